"""Everything that the demo starts: a broker, a manager, a cluster whose Nimbus asks this process, and topologies."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import TYPE_CHECKING, Any, Self

import attrs

from headworks.control.guards import Guards
from headworks.control.journal import Round
from headworks.control.loop import Control, Loop
from headworks.errors import EngineError
from headworks.interrupts import raise_pending
from headworks.model import FrozenMap
from headworks.plugins.host import PluginHost
from headworks_lab.priority.site.broker import Broker
from headworks_lab.priority.site.holding import Watcher, nodes_of
from headworks_lab.priority.site.keeper import Keeper
from headworks_lab.priority.site.topologies import Places, spout_jars, submit_all
from headworks_lab.priority.steps import seconds_of
from headworks_lab.priority.workload import Case
from headworks_local.java import find_java
from headworks_local.kafka.broker import JAVA, LocalKafka
from headworks_storm.demo.experiment import CONF, PATIENCE
from headworks_storm.local.cluster import LocalStorm, supervisor_specs
from headworks_storm.release.jar import own_jars
from headworks_storm.service import Service, ServiceSettings, serve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from headworks_lab.priority.feeds.feeds import FeedWorkload
    from headworks_lab.priority.workload import Workload

SUPERVISOR = (400.0, 4096.0, 4)
"""CPU points, MB of memory and slots of each node."""
SETTLED = ("unchanged", "quiet")
"""Outcomes of a round that has nothing to do."""
FILL = "dps"
"""Places the executors of a topology that comes, or of a worker that died."""
DRAIN = 120.0
"""Seconds for topologies to get empty. With fewer, a busy machine keeps the old allocation."""
STARTING = 900.0
"""Seconds for the workers of all topologies to start. With fewer, a busy machine fails the demo."""
WINDOW = 1.0
"""Seconds that a round looks. With more, a trigger takes effect later."""
GRACE = 5.0
"""Seconds that a round has to end where the demo fails. With more, Ctrl-C takes longer."""
STANDARD = {"priority": 2, "trigger_priority": 1, "hold": 0}
"""Priority of every topology, and of one while its trigger is on (Table 9); triggers act at once."""


@attrs.define(eq=False)
class LoopThread:
    """The control loop with one scheduler, in a thread; in a `with` block."""

    loop: Loop
    _last: Round | None = attrs.field(init=False, default=None)
    _ended: threading.Event = attrs.field(init=False, factory=threading.Event)
    _thread: threading.Thread = attrs.field(init=False, default=None)

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._run, name="headworks-demo-rounds", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_error: object) -> None:
        """End after the round that runs; where the demo fails, all that it could pause ends, too."""
        self._ended.set()
        self._thread.join(None if kind is None else GRACE)

    @property
    def last(self) -> Round | None:
        """The newest round."""
        return self._last

    def _run(self) -> None:
        while not self._ended.is_set():
            self._last = self.loop.round()


@attrs.frozen(kw_only=True, eq=False)
class Site:
    """All that runs.

    Attributes:
        host: The plugins.
        case: The topologies.
        storm: The cluster, whose Nimbus asks `service`.
        keeper: The manager.
        broker: The topics.
        watcher: Who holds which node.
        places: Addresses and folders of the topologies.
    """

    host: PluginHost
    case: Case
    storm: LocalStorm
    service: Service
    keeper: Keeper
    broker: Broker
    watcher: Watcher
    places: Places

    def rounds(self, scheduler: str) -> LoopThread:
        """The control loop with a scheduler, which the manager's priorities steer."""
        control = Control(
            scheduler=scheduler,
            engine="storm",
            window=WINDOW,
            guards=Guards(cooldown=0.0),
            priorities=f"manager:{self.keeper.database}",
            drain=DRAIN,
        )
        return LoopThread(Loop(self.host, control, self.service.target))

    @property
    def nodes(self) -> dict[str, int]:
        """Nodes on which each topology has executors."""
        return nodes_of(self.watcher.now)

    def active(self) -> bool:
        """Check that the spouts of all topologies may emit."""
        found = {each.name: each.status for each in self.storm.gateway.cluster().topologies}
        return all(found.get(each.name) == "ACTIVE" for each in self.case.members)

    def run_topologies(self, workload: Workload | FeedWorkload, folder: Path) -> None:
        """Register the topologies, submit them, and wait until every executor is reported.

        Args:
            workload: Parameters.
            folder: Scratch space.

        Raises:
            EngineError: They do not come up.
        """
        for member in self.case.members:
            # One node each while they come one by one: the first would take what the last have no more.
            self.keeper.set(member.name, desired_nodes=1, minimum_nodes=1, why="it comes", **STANDARD)
        submit_all(workload, self.places, self.storm.client_conf, folder)
        wait("every executor to be reported", lambda: not self._silent(), STARTING)
        for member in self.case.members:
            nodes = {"desired_nodes": member.desired, "minimum_nodes": member.minimum}
            self.keeper.set(member.name, why="as the use case has it", **nodes, **STANDARD)

    def settled(self, rounds: LoopThread) -> bool:
        """Check that nodes are as the scheduler wants them, and that all topologies are active."""
        last = rounds.last
        return last is not None and last.outcome in SETTLED and self.active()

    def settle(self, rounds: LoopThread, scheduler: str, say: Callable[[str], None]) -> None:
        """Wait until nodes are as a scheduler wants them.

        Args:
            rounds: The control loop with it.
            scheduler: Its name.
            say: Takes progress messages.

        Raises:
            EngineError: They do not get there.
        """
        say(f"{scheduler}: waiting until nodes are as it wants them")
        wait(f"a round of {scheduler} that has nothing to do", lambda: self.settled(rounds))
        held = ", ".join(f"{each.name} {self.nodes.get(each.name, 0)}" for each in self.case.members)
        say(f"{scheduler}: nodes are {held}")

    def history(self, begin: float) -> tuple[FrozenMap[str, Any], ...]:
        """Rows of the manager's history of all topologies since a moment, by number.

        Args:
            begin: Seconds since 1970.
        """
        found = {row["number"]: row for each in self.case.members for row in self.keeper.history(each.name)}
        return tuple(FrozenMap(found[number]) for number in sorted(found) if seconds_of(found[number]["at"]) >= begin)

    def written(self) -> dict[tuple[str, str], list[str]]:
        """Lines of each topology's file of each producer."""
        return {
            (each.name, producer): self.places.written(each.name, producer)
            for each in self.case.members
            for producer in self.case.gateways(each)
        }

    def _silent(self) -> list[str]:
        target = self.service.target
        snapshot = target.rounds.latest(PATIENCE)
        assert target.watch is not None
        alive = target.watch.alive(snapshot)
        there = {each.name for each in snapshot.scheduled if each.executors}
        missing = [each.name for each in self.case.members if each.name not in there]
        return missing + [task for each in snapshot.scheduled for task in each.executors if task not in alive]


def wait(what: str, fulfilled: Callable[[], bool], seconds: float = PATIENCE) -> None:
    """Wait for something.

    Args:
        what: What, for the error.
        fulfilled: Whether it is there.
        seconds: How long at most.

    Raises:
        EngineError: It did not come.
    """
    deadline = time.monotonic() + seconds
    while not fulfilled():
        if time.monotonic() > deadline:
            raise EngineError(f"the demo waited for {what}, in vain for {seconds:.0f} s")
        raise_pending()
        time.sleep(0.5)


@contextlib.contextmanager
def site(host: PluginHost, case: Case, folder: Path, say: Callable[[str], None]) -> Iterator[Site]:
    """Start all but the topologies; all that was started ends with the block.

    Args:
        host: The plugins.
        case: The topologies.
        folder: Scratch space.
        say: Takes progress messages.

    Raises:
        EngineError: Something is missing, or does not start.
    """
    find_java(JAVA)  # before anything is downloaded
    started: list[LocalStorm] = []
    with contextlib.ExitStack() as stack:
        say("starting the priority manager and a broker of Kafka")
        keeper = stack.enter_context(Keeper(folder))
        kafka = stack.enter_context(LocalKafka())
        broker = stack.enter_context(Broker(kafka.bootstrap, case.producers))
        settings = ServiceSettings(
            endpoint=folder / "endpoint.json",
            collector=("127.0.0.1", 0),
            priorities=f"manager:{keeper.database}",
            nimbus=lambda: attrs.evolve(started[0].gateway),
        )
        # The service first: its endpoint file and the collector's port are in the `storm.yaml` of the daemons.
        service = stack.enter_context(serve(host, FILL, {}, settings))
        say(f"starting ZooKeeper, Nimbus and {case.nodes} supervisors")
        conf = {**CONF, **service.nimbus_conf(), **service.worker_conf(), **_isolated(case)}
        nodes = supervisor_specs((SUPERVISOR,) * case.nodes)
        storm = stack.enter_context(LocalStorm(nodes, conf=conf, extlib=(own_jars().bridge, *spout_jars())))
        started.append(storm)
        watcher = stack.enter_context(Watcher(lambda: service.target.rounds.newest, time.time))
        places = Places(broker=kafka.bootstrap, manager=keeper.url, token=keeper.token, folder=folder / "written")
        yield Site(
            host=host,
            case=case,
            storm=storm,
            service=service,
            keeper=keeper,
            broker=broker,
            watcher=watcher,
            places=places,
        )


def _isolated(case: Case) -> dict[str, Any]:
    """Settings that an operator of Storm's isolation scheduler would write: one node each, for more are not there."""
    return {"isolation.scheduler.machines": {each.name: 1 for each in case.members}}

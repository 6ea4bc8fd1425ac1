"""The service beside Nimbus, put together: rounds, the bridge, the collector of reports, the writer of samples."""

from __future__ import annotations

import contextlib
import logging
import socket
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from headworks.control.knowledge import KnowledgeFile
from headworks.control.priorities import Priorities
from headworks.model import FILL, FILL_DEADLINES, Metrics, Request
from headworks.model.parts import known_metrics
from headworks_local.private_files import SecretFile, read_or_make_secret
from headworks_storm.client.connection import NimbusConnection
from headworks_storm.client.gateway import NimbusGateway
from headworks_storm.commands.line import answers as commands
from headworks_storm.intake import StormIntake
from headworks_storm.nimbus.bridge import Bridge
from headworks_storm.nimbus.rounds import Rounds
from headworks_storm.peers.claim import claim
from headworks_storm.peers.server import places, raise_limit
from headworks_storm.samples.writer import MEGABYTES, SampleWriter, TopicAddress
from headworks_storm.seats.moves import AT_ONCE, SeatMoves
from headworks_storm.target import StormTarget
from headworks_storm.workers.collector import CLIENTS, Collector
from headworks_storm.workers.measures import metrics_of
from headworks_storm.workers.watch import CollectorWatch

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from headworks import PluginHost
    from headworks.model import Observation
    from headworks_storm.nimbus.rounds import RoundDecision
    from headworks_storm.nimbus.snapshot import Snapshot

LOG = logging.getLogger("headworks.storm.service")
LONGEST = 200
"""Characters of a cluster's name in a database."""
IN_A_ROUND = 1.3
"""Times its deadline that a plan of Nimbus's round may take by the clock: Nimbus gives up soon after."""
MANY = 4096
"""Workers that have to be able to report at a time, or a warning says how many are."""
HOOKS: dict[str, list[Any]] = {
    "topology.auto.task.hooks": ["headworks.storm.monitor.TaskHook"],
    "topology.metrics.reporters": [{"class": "headworks.storm.monitor.QueueReporter"}],
}
"""Settings of `storm.yaml` by which workers report; without the jar on their classpath, workers do not start."""
SCHEDULER = {"storm.scheduler": "headworks.storm.HeadworksScheduler"}
"""Settings of Nimbus by which it asks; without the jar on its classpath, it does not start."""


@attrs.frozen(kw_only=True)
class ServiceSettings:
    """Addresses that a service listens on, files that it writes, and what its rounds may do.

    Attributes:
        endpoint: The file by which Nimbus finds it (`headworks.endpoint`).
        port: For Nimbus; 0 is any free one.
        collector: Address for the reports of workers (`headworks.collector`); None takes none.
        token: File with the secret of workers (`headworks.collector.token.file`), made if it is not there; by default
            `collector.token` beside the endpoint.
        samples: Folder or topic for the reports of workers, as Parquet; None writes none.
        samples_mb: MB that the folder may hold; beyond, its oldest files go.
        knowledge: File or folder of profiles and demands; None knows nothing.
        priorities: Plugin, and its address after a colon, that says what is how important; None leaves what topologies
            declare.
        top_up: Put executors for which no slot is free into running workers of their topology, which restarts these.
        patience: Seconds that Nimbus may take to store a plan, and workers to start; None is what Nimbus's own settings
            give them.
        nimbus: Reaches Nimbus, to pause topologies, to move tasks that have seats, and to carry out commands; None does
            none of it.
        home: The $STORM_HOME whose `storm.yaml` names that Nimbus: commands on another one are not carried out.
        at_once: Tasks of a topology that move from seat to seat at a time.
        fill: Share of each node's CPU to plan for where executors without a slot get one (`Limits.fill`).
    """

    endpoint: Path
    port: int = 0
    collector: tuple[str, int] | None = None
    token: Path | None = None
    samples: Path | TopicAddress | None = None
    samples_mb: int = MEGABYTES
    knowledge: Path | None = None
    priorities: str | None = None
    top_up: bool = False
    patience: float | None = None
    nimbus: Callable[[], NimbusGateway] | None = None
    home: Path | None = None
    at_once: int = AT_ONCE
    fill: float | None = FILL

    @property
    def token_file(self) -> Path:
        """The file with the secret of workers."""
        return self.token or self.endpoint.with_name("collector.token")


@attrs.frozen(kw_only=True, eq=False)
class Service:
    """A running service: the target for the control loop, and what it listens with."""

    target: StormTarget
    bridge: Bridge
    collector: Collector | None
    settings: ServiceSettings
    samples: SampleWriter | None = None

    def counts(self) -> dict[str, int]:
        """Counts beside the rounds, by name: the tallies of both ports, and reports that samples have lost."""
        found = attrs.asdict(self.collector.tally) if self.collector is not None else {}
        callers = attrs.asdict(self.bridge.callers, filter=lambda each, _: each.name != "answered")
        found |= {f"bridge {name}": count for name, count in callers.items()}
        if self.samples is not None:
            found["unwritten reports"] = self.samples.lost
        return found

    def seen(self, window: float) -> Observation | None:
        """What runs, as the newest round of Nimbus and the reports of the last `window` seconds say; None before both.

        Nothing is waited for.
        """
        snapshot = self.target.rounds.newest
        if snapshot is None:
            return None
        seen = snapshot.observation()
        if self.collector is None:
            return seen
        measured = metrics_of(self.collector.recent(window), snapshot, window)
        return attrs.evolve(seen, metrics=known_metrics(measured, seen))

    def nimbus_conf(self) -> dict[str, Any]:
        """Settings that `storm.yaml` of Nimbus has to hold."""
        return {**SCHEDULER, "headworks.endpoint": str(self.settings.endpoint.absolute())}

    def worker_conf(self) -> dict[str, Any]:
        """Settings that `storm.yaml` of supervisors has to hold; none without a collector."""
        if self.collector is None:
            return {}
        address = "{}:{}".format(*self.collector.address)
        secret = {"headworks.collector.token.file": str(self.settings.token_file.absolute())}
        return {**HOOKS, "headworks.collector": address, **secret}


@contextlib.contextmanager
def serve(
    host: PluginHost,
    scheduler: str,
    options: Mapping[str, Any],
    settings: ServiceSettings,
    *,
    shadow: bool = False,
    on_decision: Callable[[Snapshot, RoundDecision], None] | None = None,
) -> Iterator[Service]:
    """Answer Nimbus with a scheduler, and take the reports of workers.

    Args:
        scheduler: Name of the one that places executors without a slot.
        options: Its options by name.
        shadow: Plan, but let Storm's own scheduler act.
        on_decision: Hears of every round in which something was planned.

    Raises:
        DocumentError: There is no such knowledge.
        PluginError: There is no such plugin for priorities.
        EngineError: Another process serves this endpoint, a port is taken, a file cannot be written, or a library is
            missing.
    """
    with contextlib.ExitStack() as stack:
        stack.enter_context(claim(settings.endpoint))
        collector = _collector(settings, stack)
        watch = CollectorWatch(collector) if collector is not None else None
        knowledge, priorities = KnowledgeFile(settings.knowledge), Priorities(host, settings.priorities)
        rounds = Rounds(
            lambda request: host.schedule(scheduler, _roomy(request, settings.fill), options, stretch=IN_A_ROUND),
            shadow=shadow,
            metrics=lambda: watch.latest if watch is not None else Metrics(),
            complete=lambda seen: priorities.latest(knowledge.complete(seen)),
            top_up=settings.top_up,
            on_decision=on_decision,
        )
        samples = None
        if collector is not None and settings.samples is not None:
            writer = SampleWriter(collector, settings.samples, rounds, megabytes=settings.samples_mb)
            samples = stack.enter_context(writer)
        host.schedule(scheduler, Request(), options)  # the first plan of a process imports half of it: not in a round
        nimbus = NimbusConnection(settings.nimbus) if settings.nimbus is not None else None
        if nimbus is not None:
            stack.callback(nimbus.stop)
        command = commands(nimbus, settings.home)
        # Last, for its endpoint file lets Nimbus in: all that a round needs is there.
        bridge = stack.enter_context(Bridge(rounds.answer, settings.endpoint, port=settings.port, command=command))
        intake, seats = _actions(settings, rounds, collector, nimbus, stack)
        target = StormTarget(rounds=rounds, watch=watch, patience=settings.patience, intake=intake, seats=seats)
        yield Service(target=target, collector=collector, bridge=bridge, settings=settings, samples=samples)


def _roomy(request: Request, fill: float | None) -> Request:
    """The request with a wish for headroom; its deadline holds for all plans that this takes."""
    if fill is None:
        return request
    deadline = request.limits.deadline / FILL_DEADLINES
    return attrs.evolve(request, limits=attrs.evolve(request.limits, fill=fill, deadline=deadline))


def _actions(
    settings: ServiceSettings,
    rounds: Rounds,
    collector: Collector | None,
    nimbus: NimbusConnection | None,
    stack: contextlib.ExitStack,
) -> tuple[StormIntake | None, SeatMoves | None]:
    """Pauses of topologies, and moves of tasks with seats; none of both where Nimbus is not reached."""
    if nimbus is None:
        return None, None
    seats = SeatMoves(nimbus, settings.at_once)
    stack.callback(seats.stop)
    return _intake(settings, rounds, collector, nimbus), seats


def _intake(
    settings: ServiceSettings, rounds: Rounds, collector: Collector | None, nimbus: NimbusConnection
) -> StormIntake | None:
    if collector is None:
        return None
    # A database may hold the changes of several clusters: of one host and one endpoint there is one.
    cluster = f"storm:{socket.gethostname()}:{settings.endpoint.absolute()}"[-LONGEST:]
    return StormIntake(cluster, rounds, collector, nimbus)


def _collector(settings: ServiceSettings, stack: contextlib.ExitStack) -> Collector | None:
    limit = raise_limit()
    if settings.collector is None:
        return None
    workers = places(limit, CLIENTS)
    if workers < MANY:
        LOG.warning("%d workers can report at a time: `ulimit -n` is %d, a descriptor for each", workers, limit)
    read_or_make_secret(settings.token_file)
    token = SecretFile(settings.token_file)  # as workers do, it looks at the file for each connection
    return stack.enter_context(Collector(*settings.collector, token=token.read, places=workers))

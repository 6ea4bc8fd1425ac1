"""The experiment of the demo: a topology on a cluster of its own, measured, reassigned, and watched while it moves."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Any

import attrs

from headworks import PluginHost
from headworks.errors import EngineError
from headworks.model import FILL, FrozenMap, Observation, Plan, Receipt, Request, Slot, Status
from headworks.model.scaling import at_load, declared_from_measured
from headworks_storm.client.gateway import SMALL_JVM
from headworks_storm.install.submit import submit_description
from headworks_storm.local.cluster import LocalStorm
from headworks_storm.local.home import WORKER_HEAP
from headworks_storm.release.artefacts import STORM
from headworks_storm.release.jar import own_jars
from headworks_storm.service import Service, ServiceSettings, serve
from headworks_storm.workers.reports import steady
from headworks_storm.workers.throughput import reduced, series, sinks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from headworks_local.isolated.limits import NodeLimits
    from headworks_storm.local.cluster import SupervisorSpec
    from headworks_storm.nimbus.snapshot import Scheduled

CONF = {
    "headworks.monitor.seconds": 1,
    "storm.messaging.netty.max_wait_ms": 200,
    "worker.childopts": " ".join((WORKER_HEAP, *SMALL_JVM)),
}
"""Reports every second, and lost connections tried again within 0.2 s. Workers are warm within seconds: with the
optimising compiler they get faster all through a window of a few seconds."""
PATIENCE = 300.0
"""Seconds that a topology may take until all of it runs."""
STEADY = 4
"""Seconds of usual throughput after which a change is over."""
SETTLE = 60.0
"""Seconds that it may take for that at most."""
USUAL = 10.0
"""Seconds before a change whose mean is the usual throughput."""
LOOK, EVEN, WARM_UP = 4.0, 0.05, 40.0
"""Two windows of LOOK seconds that differ by no more than the share EVEN show a warm topology; it may take WARM_UP
seconds. With a larger EVEN, the first placement is measured while code is still compiled, and looks worse."""
LATE = 2.0
"""Seconds after which a worker's tuples are reported."""


@attrs.frozen(kw_only=True)
class Measured:
    """Traffic between tasks in a window, per second, and the slots in which tasks were seen.

    Attributes:
        seen: The observation; its assignment is where workers reported their tasks.
        tuples: All tuples between tasks; `tuples_between`: those between nodes. `bytes`, `bytes_between` likewise.
    """

    seen: Observation
    tuples: float
    tuples_between: float
    bytes: float
    bytes_between: float

    @classmethod
    def of(cls, seen: Observation) -> Measured:
        """Add up the flows of an observation; ends that nobody saw are left out."""
        at = {task: slot.node for task, slot in seen.assignment.items()}
        flows = [each for each in seen.metrics.flows if each.source in at and each.target in at]
        apart = [each for each in flows if at[each.source] != at[each.target]]
        return cls(
            seen=seen,
            tuples=sum(each.tuples or 0.0 for each in flows),
            tuples_between=sum(each.tuples or 0.0 for each in apart),
            bytes=sum(each.bytes or 0.0 for each in flows),
            bytes_between=sum(each.bytes or 0.0 for each in apart),
        )

    @property
    def share(self) -> float:
        """Part of the bytes that went from node to node."""
        return self.bytes_between / self.bytes if self.bytes else 0.0

    @property
    def nodes(self) -> int:
        """Nodes on which tasks were seen."""
        return len({slot.node for slot in self.seen.assignment.values()})

    @property
    def workers(self) -> int:
        """Workers in which tasks were seen."""
        return len(set(self.seen.assignment.values()))

    @property
    def live(self) -> bool:
        """True if tasks of every topology move while its workers run."""
        return all(each.live for each in self.seen.topologies)

    @property
    def cpu(self) -> float:
        """CPU points that tasks used."""
        return sum(each.cpu or 0.0 for each in self.seen.metrics.tasks)

    @property
    def throughput(self) -> float:
        """Tuples per second that were completed."""
        return sum(each.throughput or 0.0 for each in self.seen.metrics.topologies)


@attrs.frozen(kw_only=True)
class Reassignment:
    """One plan that was carried out on the running topology, and the cost of that.

    Attributes:
        asked: The request. `seconds`: time to plan.
        warnings: Sentences of the preflight. `receipt`: the executor's steps.
        restarted: Worker processes that ended.
        usual: Tuples per second at the sinks before; `rates`: in each second from the change on until it was over.
    """

    plan: Plan
    asked: Request
    seconds: float
    warnings: tuple[str, ...]
    receipt: Receipt
    restarted: int
    usual: float
    rates: tuple[float, ...]

    @property
    def reduced(self) -> int:
        """Seconds of reduced throughput."""
        return reduced(self.rates, self.usual)


@attrs.frozen(kw_only=True, eq=False)
class ServedCluster:
    """A local cluster whose Nimbus asks this process, and one topology on it at a time.

    Attributes:
        host: The plugins.
        storm: The daemons.
        service: The service that Nimbus asks and workers report to.
    """

    host: PluginHost
    storm: LocalStorm
    service: Service

    def run(
        self, description: Mapping[str, Any], *, shadow: bool = True, seats: Mapping[str, str] | None = None
    ) -> None:
        """Submit a topology, let it be placed, and wait until every executor is reported.

        Args:
            description: The topology, as `headworks_storm.workload.describe.describe` describes it.
            shadow: Whether Storm's own scheduler places it, and not the one that the cluster was started with.
            seats: State of the components whose tasks are to have seats; of all bolts if it is empty, of none if None.

        Raises:
            EngineError: It cannot be submitted, or does not run in time.
        """
        self.service.target.rounds.shadow = shadow
        submit_description(description, self.storm.client_conf, seats=seats, version=self.storm.version)
        rounds, name = self.service.target.rounds, str(description["name"])
        # The first rounds after a submission may show the topology without its executors.
        placed = rounds.until(
            lambda each: any(it.name == name and it.executors and not it.unassigned for it in each.scheduled), PATIENCE
        )
        if placed is None:
            raise EngineError(f"{name} is not placed after {PATIENCE:.0f} s")
        self._wait_until_seen(name)

    def _wait_until_seen(self, name: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while silent := self._silent(name):
            if time.monotonic() > deadline:
                raise EngineError(f"{len(silent)} executors of {name} have not reported after {PATIENCE:.0f} s")
            time.sleep(0.5)

    def _silent(self, name: str) -> list[str]:
        target = self.service.target
        snapshot = target.rounds.latest(PATIENCE)
        assert target.watch is not None
        alive = target.watch.alive(snapshot)
        return [task for it in snapshot.scheduled if it.name == name for task in it.executors if task not in alive]

    def end(self, *names: str) -> None:
        """Kill topologies, the last ones of the cluster, at once, and wait until no worker is left."""
        for name in names:
            self.storm.gateway.kill(name, wait=0)
        ended = set(names)
        gone = self.service.target.rounds.until(
            lambda each: ended.isdisjoint(it.name for it in each.scheduled), PATIENCE
        )
        deadline = time.monotonic() + PATIENCE
        # Nimbus forgets a topology at once, its supervisors end the workers some time after that.
        while gone is None or self.storm.workers():
            if time.monotonic() > deadline:
                raise EngineError(f"{', '.join(names)}: killed, and workers still run after {PATIENCE:.0f} s")
            time.sleep(0.5)

    def warm_up(self) -> None:
        """Wait until the topology is as fast as it gets: code is compiled, queues are as long as they stay."""
        deadline = time.monotonic() + WARM_UP
        before, now = 0.0, self.measure(LOOK).tuples
        while abs(now - before) > EVEN * now and time.monotonic() < deadline:
            before, now = now, self.measure(LOOK).tuples

    def measure(self, seconds: float) -> Measured:
        """Measure the topology for this many seconds."""
        return Measured.of(self.host.observe("storm", self.service.target, seconds))

    def settled_seats(self) -> Measured:
        """Measure a topology with seats once it is known where its tasks live.

        Raises:
            EngineError: It is not known in time.
        """
        deadline = time.monotonic() + PATIENCE
        while not (found := self.measure(LOOK)).live:
            if time.monotonic() > deadline:
                raise EngineError(f"it is not known where tasks live: {'; '.join(found.seen.notes)}")
        return found

    def question(self, pilot: Measured, now: Measured, load: float | None) -> Request:
        """Make the request for a scheduler: costs and traffic of one measurement, the running assignment of another.

        All schedulers plan on the same pilot: a later measurement would depend on the placements before.

        Args:
            pilot: The measurement whose costs and traffic count.
            now: The newest measurement: where tasks run.
            load: Share of all CPU to plan for; None plans for the load that was measured.
        """
        request = Request.of(attrs.evolve(pilot.seen, assignment=now.seen.assignment))
        return declared_from_measured(request if load is None else at_load(request, load))

    def plan(self, scheduler: str, request: Request, options: Mapping[str, Any]) -> tuple[Plan, float]:
        """Make a plan, and time it.

        Args:
            scheduler: Name of the scheduler.
            options: Options of the scheduler by name.

        Returns:
            The plan and the seconds that it took.

        Raises:
            EngineError: There is no feasible plan.
        """
        begin = time.perf_counter()
        plan = self.host.schedule(scheduler, request, options)
        seconds = time.perf_counter() - begin
        if plan.status is not Status.OK:
            why = "; ".join(reason.message for reason in plan.reasons[:3])
            raise EngineError(f"{scheduler}: the plan is {plan.status}: {why}")
        return plan, seconds

    def change(self, plan: Plan, request: Request, seconds: float) -> Reassignment:
        """Carry a plan out, and wait until the topology is as fast as before.

        Args:
            request: The request that it answers.
            seconds: Time that planning took, for the result.

        Raises:
            EngineError: It was not carried out; what ran before was restored.
        """
        target = self.service.target
        target.rounds.shadow = False
        # By process ids, not by reports: a worker that restarted is another process, whatever it says.
        before = {each.pid for each in self.storm.workers()}
        begin = steady()
        warnings = self.host.preflight("storm", target, plan)
        receipt = self.host.execute("storm", target, plan)
        if not receipt.done:
            self.host.rollback("storm", target, receipt)
            failed = "; ".join(step.message for step in receipt.steps if not step.done)
            raise EngineError(f"the plan was not carried out: {failed}")
        usual, rates = self._settled(begin)
        ended = before - {each.pid for each in self.storm.workers()}
        return Reassignment(
            plan=plan,
            asked=request,
            seconds=seconds,
            warnings=tuple(warnings),
            receipt=receipt,
            restarted=len(ended),
            usual=usual,
            rates=rates,
        )

    def _settled(self, begin: float) -> tuple[float, tuple[float, ...]]:
        """The usual rate at the sinks, and those from the change until it is over, or `SETTLE` seconds."""
        deadline = steady() + SETTLE
        while True:
            before = self.rates(begin - USUAL, begin)
            usual, rates = sum(before) / len(before), self.rates(begin)
            is_steady = len(rates) >= STEADY and not reduced(rates[-STEADY:], usual)
            if is_steady or steady() > deadline:
                # The steady seconds at the end are usual ones: the change was over before them.
                return usual, rates[:-STEADY] if is_steady else rates
            time.sleep(0.5)

    def rates(self, begin: float, end: float | None = None) -> tuple[float, ...]:
        """Tuples that came to the last bolts in each second; of the last minutes, for reports are not kept for longer.

        Args:
            begin: Start of the first second, seconds since 1970.
            end: What follows is left out; None for the newest second that all workers have reported.
        """
        end = steady() - LATE if end is None else end
        (scheduled,) = self.scheduled()
        assert self.service.collector is not None
        reports = self.service.collector.recent(steady() - begin + LATE)
        own = [each for each in reports if each.topology == scheduled.topology.id]
        return series(own, sinks(scheduled), begin, end)

    def scheduled(self) -> tuple[Scheduled, ...]:
        """The topologies of Nimbus's newest round."""
        return self.service.target.rounds.latest(PATIENCE).scheduled


@contextlib.contextmanager
def experiment(
    host: PluginHost,
    supervisors: tuple[SupervisorSpec, ...],
    folder: Path,
    *,
    scheduler: str,
    fill: float | None = FILL,
    conf: Mapping[str, Any] | None = None,
    version: str = STORM,
    apart: tuple[NodeLimits, ...] | None = None,
) -> Iterator[ServedCluster]:
    """Start a cluster of these supervisors, served by this process; all that was started ends with the block.

    Args:
        scheduler: The scheduler that places executors whose worker died, once a plan was carried out.
        fill: Share of each node's CPU that it plans for.
        conf: Further settings for `storm.yaml`.
        apart: Bounds of the node of each supervisor, None if nodes are not apart.

    Raises:
        EngineError: The cluster does not start.
    """
    own = own_jars()
    storm = LocalStorm(supervisors, extlib=(own.bridge, own.seats), version=version, apart=apart)
    with contextlib.ExitStack() as stack:
        # The addresses first, at one of which the collector listens; then the service: its endpoint file and the
        # collector's port are in the `storm.yaml` of the daemons.
        stack.callback(storm.stop)
        storm.make_nodes()
        settings = ServiceSettings(
            endpoint=folder / "endpoint.json",
            collector=(storm.nimbus_host, 0),
            nimbus=lambda: attrs.evolve(storm.gateway),
            fill=fill,
        )
        service = stack.enter_context(serve(host, scheduler, {}, settings, shadow=True))
        storm.conf = {**CONF, **service.nimbus_conf(), **service.worker_conf(), **(conf or {})}
        stack.enter_context(storm)
        yield ServedCluster(host=host, storm=storm, service=service)


def by_host(request: Request, assignment: Mapping[str, Slot]) -> tuple[Request, FrozenMap[str, Slot]]:
    """The request and an assignment with nodes named by their hosts, for people: a supervisor's id is a random number.

    Args:
        request: The request, with what runs.
        assignment: Slot by task id, on nodes of the request.
    """
    name = _hosts(request)
    nodes = tuple(attrs.evolve(node, id=node.hostname) for node in request.cluster.nodes)
    cluster, metrics = attrs.evolve(request.cluster, nodes=nodes), attrs.evolve(request.metrics, nodes=())
    running = FrozenMap({task: name(slot) for task, slot in request.assignment.items()})
    renamed = attrs.evolve(request, cluster=cluster, assignment=running, metrics=metrics)
    return renamed, FrozenMap({task: name(slot) for task, slot in assignment.items()})


def moves_by_host(plan: Plan, request: Request) -> Plan:
    """The plan, with the nodes in its moves named by their hosts.

    Args:
        request: The request that it answers.
    """
    name = _hosts(request)
    moves = (
        attrs.evolve(each, source=each.source and name(each.source), target=each.target and name(each.target))
        for each in plan.moves
    )
    return attrs.evolve(plan, moves=tuple(moves))


def _hosts(request: Request) -> Callable[[Slot], Slot]:
    names = {node.id: node.hostname for node in request.cluster.nodes}
    return lambda slot: Slot(names.get(slot.node, slot.node), slot.port)

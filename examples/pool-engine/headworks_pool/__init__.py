"""An adapter for Headworks: the entry point `pool` names the object of that name, whose hooks watch and steer."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import psutil

from headworks import Description, EngineEndedError, EngineError, Observation, Receipt, hookimpl
from headworks.model import (
    Cluster,
    Component,
    Flow,
    FrozenMap,
    Kind,
    Metrics,
    Node,
    NodeSample,
    Resources,
    Step,
    Stream,
    Topology,
)
from headworks_pool.processes import Processes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from headworks import Plan
    from headworks.model import Slot

TASK = Resources(cpu=20.0, memory=16.0)
TOPOLOGY = Topology(
    id="sums",
    components=(
        Component(id="source", kind=Kind.SPOUT, parallelism=2, demand=TASK),
        Component(id="double", parallelism=2, demand=TASK),
        Component(id="total", parallelism=2, demand=TASK),
    ),
    streams=(Stream(source="source", target="double"), Stream(source="double", target="total")),
)


class PoolEngine:
    """Run tasks that send each other numbers in worker processes on this machine, one process a node."""

    @hookimpl
    def headworks_describe(self) -> Description:
        """Say what the plugin is."""
        return Description(summary=self.__doc__)

    @hookimpl
    @contextlib.contextmanager
    def headworks_open(self, application: Sequence[str], address: str | None) -> Iterator[Processes]:
        """Start processes; the application is the number of nodes, three if none is given."""
        if address is not None or len(application) > 1 or not all(each.isdigit() for each in application):
            raise EngineError(f"expected a number of nodes and no address, not {[*application, address]}")
        engine = Processes(int(application[0]) if application else 3)
        try:
            yield engine
        finally:
            engine.end()

    @hookimpl
    def headworks_observe(self, target: Processes, window: float) -> Observation:
        """Count what tasks send each other for a window of seconds. It takes no time beyond that."""
        if not target.workers:
            raise EngineEndedError("no worker process is left")
        processes = {}
        for node, worker in list(target.workers.items()):
            with contextlib.suppress(psutil.NoSuchProcess):  # it dies just now
                processes[node] = psutil.Process(worker.pid)
                processes[node].cpu_percent()
        rates = target.rates(window)
        seen = [NodeSample(node=node, cpu=_cpu(process)) for node, process in sorted(processes.items())]
        # A node that died meanwhile is in none of the parts of an observation.
        alive = sorted(target.workers)
        return Observation(
            cluster=Cluster(nodes=tuple(Node(id=node, capacity=Resources(cpu=100.0, memory=256.0)) for node in alive)),
            topologies=(TOPOLOGY,),
            assignment=FrozenMap({task: slot for task, slot in target.running.items() if slot.node in alive}),
            metrics=Metrics(
                window=window,
                flows=tuple(Flow(source=a, target=b, tuples=rate) for (a, b), rate in sorted(rates.items())),
                nodes=tuple(sample for sample in seen if sample.node in alive),
            ),
        )

    @hookimpl
    def headworks_preflight(self, plan: Plan) -> Sequence[str]:
        """Everything is enforced but a change of the numbers of tasks."""
        return [f"{name} keeps its number of tasks" for name in sorted(plan.parallelism)]

    @hookimpl
    def headworks_execute(self, target: Processes, plan: Plan) -> Receipt:
        """Carry out the assignment, task by task; what ran before is what to restore."""
        undo = FrozenMap(target.running)
        steps = _reach(target, plan.assignment)
        return Receipt(done=all(step.done for step in steps), level="process", steps=steps, undo=undo)

    @hookimpl
    def headworks_rollback(self, target: Processes, receipt: Receipt) -> Receipt:
        """Restore the assignment from before a plan; a receipt of nothing changes nothing."""
        undo = FrozenMap(target.running)
        steps = _reach(target, receipt.undo) if receipt.steps else ()
        return Receipt(done=all(step.done for step in steps), level="process", steps=steps, undo=undo)


def _reach(target: Processes, wanted: Mapping[str, Slot]) -> tuple[Step, ...]:
    """Run tasks where they are wanted, and stop those that are not; one step a task that changes."""
    places = {**dict.fromkeys(target.running), **wanted}
    changes = {task: slot for task, slot in sorted(places.items()) if target.running.get(task) != slot}
    said = {task: target.move(task, slot) for task, slot in changes.items()}
    return tuple(
        Step(action="place" if slot else "stop", subject=task, done=not said[task], message=said[task] or f"at {slot}")
        for task, slot in changes.items()
    )


def _cpu(process: psutil.Process) -> float | None:
    """Points of CPU since the last look, None of a process that has ended."""
    try:
        return float(process.cpu_percent())
    except psutil.Error:
        return None


pool = PoolEngine()

"""Reports of workers as metrics of the model: load of tasks, flows between them, and the slots they run in.

A task that moved or whose worker was restarted is in the reports of several processes. The one that reported it last
is believed, and its figures are averaged over the windows of that process: counts before a restart mix with nothing.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from headworks.model import Flow, FrozenMap, Metrics, NodeSample, Slot, TaskSample
from headworks_storm.workers.topologies import ReportedWorker, task_numbers, topology_samples

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from headworks_storm.nimbus.snapshot import Snapshot
    from headworks_storm.workers.reports import Report

    Numbers = Mapping[tuple[str, int], str]

Life = tuple[str, str | None, int, int]
"""A worker process from its start to its end: `Report.process`."""
POINTS = 100.0
"""CPU points of one core, Storm's unit: 100 points are a core in full use."""


def seen(reports: Iterable[Report], snapshot: Snapshot) -> FrozenMap[str, Slot]:
    """Slots in which tasks of a snapshot ran when a worker last reported them, by task id.

    Workers on supervisors that the snapshot does not have are left out, and so are their tasks.

    Args:
        reports: In any order, of any topologies.
        snapshot: A round of Nimbus: it knows which executor has which tasks, and the supervisors.
    """
    numbers = task_ids(snapshot)
    processes = _processes(reports)
    return FrozenMap(
        {
            numbers[process.latest.topology, task]: slot
            for process, slot in zip(processes, _slots(processes, snapshot), strict=True)
            for task in sorted(process.tasks)
            if slot is not None and (process.latest.topology, task) in numbers
        }
    )


def lives(reports: Iterable[Report], snapshot: Snapshot) -> FrozenMap[Life, Slot]:
    """All worker processes that reported, each with its slot, those of which a later one took over all tasks too.

    Args:
        reports: In any order, of any topologies.
        snapshot: A round of Nimbus; processes on supervisors that it does not have are left out.
    """
    latest = {each.process: each for each in sorted(reports, key=lambda each: (each.received, each.number))}
    processes = [ReportedWorker((report,), frozenset()) for report in latest.values()]
    found = zip(latest, _slots(processes, snapshot), strict=True)
    return FrozenMap({process: slot for process, slot in found if slot is not None})


def metrics_of(reports: Iterable[Report], snapshot: Snapshot, window: float) -> Metrics:
    """Metrics of the tasks, nodes and topologies of a snapshot: CPU in points, rates in tuples and bytes per second.

    A task that nobody reported has no sample. Flows have bytes where the size of their tuples is known, from the flow
    itself or from others between the same components; a scheduler plans on bytes if all have them.

    Args:
        reports: In any order, of any topologies.
        snapshot: A round of Nimbus: it knows which executor has which tasks.
        window: Seconds that were watched.
    """
    processes = _processes(reports)
    numbers = task_ids(snapshot)
    samples = _tasks(processes, numbers)
    return Metrics(
        window=window,
        tasks=tuple(samples[name] for name in sorted(samples)),
        flows=tuple(_flows(processes, numbers)),
        nodes=tuple(_nodes(processes, snapshot)),
        topologies=tuple(topology_samples(processes, snapshot, samples)),
    )


def _processes(reports: Iterable[Report]) -> list[ReportedWorker]:
    """The processes that are the last to have reported a task, each with those tasks."""
    lives: dict[tuple[object, ...], list[Report]] = defaultdict(list)
    for report in sorted(reports, key=lambda each: (each.received, each.number)):
        lives[report.process].append(report)
    ordered = sorted(lives.values(), key=lambda life: (life[-1].received, life[-1].started, str(life[-1].process)))
    # Later entries win, so a task belongs to the process that reported last, of two at once to the one started later.
    owner = {(life[-1].topology, row.task): life[-1].process for life in ordered for row in life[-1].tasks}
    tasks: dict[tuple[object, ...], set[int]] = defaultdict(set)
    for (_, task), process in owner.items():
        tasks[process].add(task)
    return [ReportedWorker(lives[process], frozenset(tasks[process])) for process in sorted(tasks, key=str)]


def task_ids(snapshot: Snapshot) -> dict[tuple[str, int], str]:
    """Task id of the model by topology id and Storm's number of a task."""
    return {(each.topology.id, number): name for each in snapshot.scheduled for name, number in task_numbers(each)}


def _slots(processes: Sequence[ReportedWorker], snapshot: Snapshot) -> list[Slot | None]:
    """The slot of each process; one that does not know its supervisor is found by host and port."""
    hosts = {(node.hostname, port): node.id for node in snapshot.nodes for port in node.slots}
    nodes = {node.id for node in snapshot.nodes}
    slots: list[Slot | None] = []
    for report in (process.latest for process in processes):
        node = report.supervisor or hosts.get((report.host or "", report.port))
        slots.append(Slot(node, report.port) if node in nodes else None)
    return slots


def _tasks(processes: Sequence[ReportedWorker], numbers: Numbers) -> dict[str, TaskSample]:
    """Samples by task id; an executor that runs several of Storm's tasks is one task of the model."""
    samples = {}
    for process in processes:
        totals: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
        for row in process.rows():
            if (name := numbers.get((process.latest.topology, row.task))) is not None:
                totals[name][0] += row.received
                totals[name][1] += row.emitted
        cpu, queue = _executors(process, numbers)
        for name, (received, emitted) in totals.items():
            samples[name] = TaskSample(
                task=name,
                cpu=cpu.get(name),
                received=received / process.seconds,
                emitted=emitted / process.seconds,
                queue=queue.get(name),
                source="thread" if name in cpu else "hook",
            )
    return samples


def _executors(process: ReportedWorker, numbers: Numbers) -> tuple[dict[str, float], dict[str, float]]:
    """CPU points and mean queue of the executors of a process, by task id."""
    used: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    waiting: dict[str, list[int]] = defaultdict(list)
    for report in process.reports:
        for row in report.executors:
            name = numbers.get((report.topology, row.task))
            if name is None or row.task not in process.tasks:
                continue
            # CPU by the windows that know it: a thread that was not found in one of them did not do nothing.
            if row.cpu is not None:
                used[name][0] += row.cpu
                used[name][1] += report.window
            if row.queue is not None:
                waiting[name].append(row.queue)
    cpu = {name: POINTS * seconds / window for name, (seconds, window) in used.items()}
    return cpu, {name: sum(each) / len(each) for name, each in waiting.items()}


def _flows(processes: Sequence[ReportedWorker], numbers: Numbers) -> Iterator[Flow]:
    """Flows between tasks of the model, by the sender's worker, which counts and weighs what it emits."""
    tuples: dict[tuple[str, str], float] = defaultdict(float)
    sizes: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0, 0.0])
    for process in processes:
        for report in process.reports:
            for row in report.flows:
                source, target = (numbers.get((report.topology, each)) for each in (row.source, row.target))
                if source is None or target is None or source == target or row.source not in process.tasks:
                    continue
                tuples[source, target] += row.tuples / process.seconds
                if row.bytes is not None:
                    for key in ((source, target), _kind(source, target)):
                        sizes[key][0] += row.bytes
                        sizes[key][1] += row.tuples
    for (source, target), rate in sorted(tuples.items()):
        # Mean size of a tuple: of this pair, else of all pairs of the same two components.
        total, count = sizes.get((source, target)) or sizes.get(_kind(source, target)) or (0.0, 0.0)
        yield Flow(source=source, target=target, tuples=rate, bytes=rate * total / count if count else None)


def _kind(source: str, target: str) -> tuple[str, str]:
    """The two components of a flow, by which the sizes of its tuples may stand for those of another."""
    return source.rpartition("/")[0], target.rpartition("/")[0]


def _nodes(processes: Sequence[ReportedWorker], snapshot: Snapshot) -> Iterator[NodeSample]:
    """CPU of the worker processes of a node and heap in use, as far as its workers report."""
    cpu: dict[str, float] = defaultdict(float)
    memory: dict[str, float] = defaultdict(float)
    for process, slot in zip(processes, _slots(processes, snapshot), strict=True):
        if slot is not None:
            cpu[slot.node] += POINTS * sum(report.cpu for report in process.reports) / process.seconds
            memory[slot.node] += process.latest.heap
    for node in sorted(cpu):
        yield NodeSample(node=node, cpu=cpu[node], memory=memory[node], source="worker processes")

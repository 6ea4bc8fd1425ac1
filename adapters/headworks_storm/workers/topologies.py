"""Load and throughput of whole topologies: what arrives from outside, and what part of it is completed.

A spout that is held back (`topology.max.spout.pending`, back-pressure) emits what its bolts can take, not what arrives:
the load is read at its source where that can be told.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

import attrs

from headworks.model import Kind, TopologySample
from headworks_storm.nimbus.snapshot import component_of
from headworks_storm.workers.completion import completed_part
from headworks_storm.workers.reports import Report

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from headworks.model import TaskSample
    from headworks_storm.nimbus.snapshot import Scheduled, Snapshot
    from headworks_storm.workers.reports import SourceRow, TaskRow

HELD = 0.1
"""Part of the time that Storm may hold a spout back unnoticed."""
HELD_MOST = 0.9
"""Part that counts at most."""


@attrs.frozen(eq=False)
class ReportedWorker:
    """The reports of one life of a worker, oldest first, and its `tasks`: those that no other life reported later."""

    reports: Sequence[Report]
    tasks: frozenset[int]

    @property
    def seconds(self) -> float:
        """Length of all windows."""
        return sum(report.window for report in self.reports)

    @property
    def latest(self) -> Report:
        """The newest report."""
        return self.reports[-1]

    def rows(self) -> Iterator[TaskRow]:
        """Rows of its tasks."""
        return (row for report in self.reports for row in report.tasks if row.task in self.tasks)


WAYS = ("emitted", "arrived", "held back")
"""Ways in which a load is known, the least certain last."""


@attrs.frozen
class Offered:
    """Tuples/s that are offered to a spout's task, and the way in which that is known, one of `WAYS`."""

    rate: float
    way: str = "emitted"


def offered_rate(emitted: float, sources: Iterable[SourceRow], seconds: float) -> Offered:
    """The load of a spout's task, in tuples that it would emit.

    Where its source tells, that is what it emitted, times what arrived over what it took: one that takes half of what
    arrives would emit twice as much. Where the source tells nothing and Storm held the spout back, it would have
    emitted at the same pace all the time.

    Args:
        sources: Rows on its source, of the same windows; none if nothing is known of it.
        seconds: Length of these windows together.
    """
    rows = list(sources)
    told = [(row.arrived, row.taken) for row in rows if row.arrived is not None and row.taken is not None]
    taken = sum(taken for _, taken in told)
    arrived = sum(arrived for arrived, _ in told)
    if taken or arrived:
        return Offered(emitted * arrived / taken if taken else arrived / seconds, "arrived")
    part = min(sum(row.held or 0 for row in rows) / 1000 / seconds, HELD_MOST)
    return Offered(emitted / (1 - part), "held back") if part > HELD else Offered(emitted)


def offered_load(processes: Iterable[ReportedWorker], scheduled: Scheduled) -> dict[str, Offered]:
    """Offered load of each task of a topology's spouts, by task id."""
    spouts, _ = ends(scheduled)
    names = {number: name for name, number in task_numbers(scheduled) if name in spouts}
    found: dict[str, Offered] = {}
    for process in processes:
        emitted: dict[int, float] = defaultdict(float)
        for row in process.rows():
            emitted[row.task] += row.emitted / process.seconds
        sources: dict[int, list[SourceRow]] = defaultdict(list)
        for each in (each for report in process.reports for each in report.sources):
            sources[each.task].append(each)
        for number in sorted(emitted.keys() & names.keys()):
            made = offered_rate(emitted[number], sources[number], process.seconds)
            before = found.get(names[number], Offered(0.0))
            found[names[number]] = Offered(before.rate + made.rate, max(before.way, made.way, key=WAYS.index))
    return found


def topology_samples(
    processes: Sequence[ReportedWorker], snapshot: Snapshot, samples: Mapping[str, TaskSample]
) -> Iterator[TopologySample]:
    """Samples of the topologies of a snapshot that some worker reported.

    Args:
        processes: The processes that are the last to have reported a task.
        samples: Of all tasks, by id.
    """
    for scheduled in sorted(snapshot.scheduled, key=lambda each: each.topology.id):
        own = [process for process in processes if process.latest.topology == scheduled.topology.id]
        acked = sum(sum(row.acked for row in process.rows()) / process.seconds for process in own)
        latencies = sum(row.latencies for process in own for row in process.rows())
        latency = sum(row.latency for process in own for row in process.rows())
        load = offered_load(own, scheduled)
        total = sum(each.rate for each in load.values())
        # Without ackers nothing is acked: then throughput is the part of the load that the sinks' share stands for.
        part = None if acked else completed_part(*_rates(own, scheduled, load, samples))
        if own:
            yield TopologySample(
                topology=scheduled.topology.id,
                offered=total if load else None,
                throughput=acked or (None if part is None else part * total),
                latency=latency / latencies if latencies else None,
                source="; ".join(["acked" if acked else "received by sinks", *_ways(load)]),
            )


def _ways(load: Mapping[str, Offered]) -> list[str]:
    """Ways in which the offered load is known, other than by what spouts emit."""
    return [f"offered: {way}" for way in sorted({each.way for each in load.values()}) if way != "emitted"]


def _rates(
    processes: Sequence[ReportedWorker],
    scheduled: Scheduled,
    load: Mapping[str, Offered],
    samples: Mapping[str, TaskSample],
) -> tuple[dict[str, float], dict[str, float], dict[tuple[str, str], float]]:
    """Offered, processed and sent tuples/s of the topology's own components; see `completed_part`."""
    own = {each.id: each.kind for each in scheduled.topology.components if not each.id.startswith("__")}
    offered: dict[str, float] = defaultdict(float)
    processed: dict[str, float] = defaultdict(float)
    for task in scheduled.executors:
        name, sample = component_of(task), samples.get(task)
        if task in load:
            offered[name] += load[task].rate
        if sample is not None and name in own:
            processed[name] += (sample.emitted if own[name] is Kind.SPOUT else sample.received) or 0.0
    part = {number: component_of(task) for task, number in task_numbers(scheduled)}
    flows: dict[tuple[str, str], float] = defaultdict(float)
    for process in processes:
        for row in (row for report in process.reports for row in report.flows):
            source, target = part.get(row.source), part.get(row.target)
            if source in own and target in own and row.source in process.tasks:
                flows[source, target] += row.tuples / process.seconds
    return offered, processed, flows


def task_numbers(scheduled: Scheduled) -> Iterator[tuple[str, int]]:
    """Task ids of the model with each of Storm's numbers."""
    for name, (first, last) in scheduled.executors.items():
        for number in range(first, last + 1):
            yield name, number


def ends(scheduled: Scheduled) -> tuple[set[str], set[str]]:
    """Task ids of a topology's spouts, and of its sinks: bolts that send to no other of its own bolts."""
    own = {each.id: each.kind for each in scheduled.topology.components if not each.id.startswith("__")}  # no ackers
    inner = {each.source for each in scheduled.topology.streams if each.target in own}
    spouts = {name for name in scheduled.executors if own.get(component_of(name)) is Kind.SPOUT}
    sinks = {name for name in scheduled.executors if own.get(component_of(name)) is Kind.BOLT}
    return spouts, {name for name in sinks if component_of(name) not in inner}

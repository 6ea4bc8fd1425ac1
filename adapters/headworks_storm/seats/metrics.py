"""Measurements of seats, as of the tasks whose seats they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from headworks.model import Flow, Metrics, TaskSample

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headworks_storm.nimbus.snapshot import Snapshot


def logical_metrics(metrics: Metrics, before: Snapshot, after: Snapshot) -> Metrics:
    """The metrics with all seats of a task summed up: it lives in one, and may have lived in another in the window.

    What goes from one seat of a task to another are tuples that are passed on, and is no traffic of the topology.

    Args:
        metrics: By the names of one round.
        after: The same round by other names: tasks in place of seats.
    """
    names = logical_names(before, after)
    tasks: dict[str, TaskSample] = {}
    for each in (attrs.evolve(each, task=names.get(each.task, each.task)) for each in metrics.tasks):
        tasks[each.task] = _sum(tasks[each.task], each) if each.task in tasks else each
    flows: dict[tuple[str, str], Flow] = {}
    for flow in metrics.flows:
        key = names.get(flow.source, flow.source), names.get(flow.target, flow.target)
        one = flows.get(key, Flow(source=key[0], target=key[1]))
        flows[key] = attrs.evolve(one, tuples=_total(one.tuples, flow.tuples), bytes=_total(one.bytes, flow.bytes))
    return attrs.evolve(
        metrics,
        tasks=tuple(tasks[name] for name in sorted(tasks)),
        flows=tuple(flow for (source, target), flow in sorted(flows.items()) if source != target),
    )


def logical_names(before: Snapshot, after: Snapshot) -> Mapping[str, str]:
    """New name by old name, where two rounds differ: by the ids of Storm's tasks, of which a task has several.

    Args:
        after: The same round by other names.
    """
    found: dict[str, str] = {}
    for old, new in zip(before.scheduled, after.scheduled, strict=True):
        if old is not new:
            parts = ((task, range(first, last + 1)) for task, (first, last) in new.executors.items())
            owners = {number: task for task, numbers in parts for number in numbers}
            # A task that does not work is in no round of tasks: its seats keep their names, which are nobody's there.
            found |= {task: owners[first] for task, (first, _) in old.executors.items() if first in owners}
    return found


def _sum(one: TaskSample, other: TaskSample) -> TaskSample:
    return attrs.evolve(
        one,
        cpu=_total(one.cpu, other.cpu),
        received=_total(one.received, other.received),
        emitted=_total(one.emitted, other.emitted),
        queue=_total(one.queue, other.queue),
        source=max(one.source, other.source),  # a thread's own time says more than a hook
    )


def _total(one: float | None, other: float | None) -> float | None:
    return one if other is None else other if one is None else one + other

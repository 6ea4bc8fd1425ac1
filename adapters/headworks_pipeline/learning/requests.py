"""A request from knowledge: the newest state of an engine, with what the samples say of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from headworks.control.knowledge import complete
from headworks.model import (
    Flow,
    FrozenMap,
    Limits,
    Metrics,
    NodeSample,
    Request,
    StreamSample,
    TaskSample,
    TopologySample,
)
from headworks_pipeline.learning.flows import flow_rates
from headworks_pipeline.learning.groups import split

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from headworks.model import Observation
    from headworks.model.knowledge import Knowledge

SOURCE = "pipeline"
"""The `source` of all samples that are means over hours."""


def request_of(
    state: Observation, knowledge: Knowledge, sums: Mapping[str, Any], windows: Mapping[str, Any]
) -> Request:
    """Request for a scheduler: figures are means over the recent hours, declared demands are percentiles.

    Args:
        state: Cluster, topologies and assignment; samples of other topologies and nodes are left out.
        knowledge: Profiles and demands.
        sums: The table of the recent hours.
        windows: The table of the recent hours.
    """
    seen = complete(state, knowledge)
    tasks = {task.id for topology in seen.topologies for task in topology.tasks()}
    metrics = Metrics(
        window=_seconds(windows),
        tasks=tuple(each for each in _tasks(sums) if each.task in tasks),
        flows=tuple(each for each in _flows(sums) if each.source in tasks and each.target in tasks),
        nodes=tuple(_nodes(windows, {node.id for node in state.cluster.nodes})),
        topologies=tuple(_topologies(windows, {each.id for each in seen.topologies})),
        streams=tuple(_streams(sums, {(one.id, part.id) for one in seen.topologies for part in one.components})),
    )
    running = FrozenMap({task: slot for task, slot in seen.assignment.items() if task in tasks})
    return Request.of(attrs.evolve(seen, assignment=running, metrics=metrics), limits=Limits())


def _mean(total: Any, weight: Any) -> float | None:
    # Sorted before they are added, and nine digits kept: the same request whatever the order of files.
    whole = np.nan_to_num(weight.astype(np.float64)).sum()
    return float(f"{np.sort(np.nan_to_num(total.astype(np.float64))).sum() / whole:.9g}") if whole > 0 else None


def _tasks(sums: Mapping[str, Any]) -> Iterator[TaskSample]:
    for (kind, task), rows in split(sums, "kind", "task").items():
        if kind == "task":
            names = ("cpu", "memory", "received", "emitted", "queue")
            means = {name: _mean(sums[f"s_{name}"][rows], sums[f"w_{name}"][rows]) for name in names}
            yield TaskSample(task=task, source=SOURCE, **means)


def _flows(sums: Mapping[str, Any]) -> Iterator[Flow]:
    for (_, task, target, *_parts), tuples, size in flow_rates(sums):
        yield Flow(source=task, target=target, tuples=tuples, bytes=size)


def _streams(sums: Mapping[str, Any], known: set[tuple[str, str]]) -> Iterator[StreamSample]:
    for (topology, _, _, source, target), tuples, size in flow_rates(sums, "stream"):
        if {(topology, source), (topology, target)} <= known:
            yield StreamSample(topology=topology, source=source, target=target, tuples=tuples, bytes=size)


def _seconds(windows: Mapping[str, Any]) -> float:
    return 60.0 * len(np.unique(windows["minute"])) if windows else 0.0


def _nodes(windows: Mapping[str, Any], known: set[str]) -> Iterator[NodeSample]:
    for subject, means in _means(windows, "node", ("cpu", "memory")):
        if subject in known:
            yield NodeSample(node=subject, source=SOURCE, **means)


def _topologies(windows: Mapping[str, Any], known: set[str]) -> Iterator[TopologySample]:
    for subject, means in _means(windows, "topology", ("offered", "throughput", "latency")):
        if subject in known:
            yield TopologySample(topology=subject, source=SOURCE, **means)


def _means(
    windows: Mapping[str, Any], kind: str, names: tuple[str, ...]
) -> Iterator[tuple[str, dict[str, float | None]]]:
    for (found, subject), rows in split(windows, "kind", "subject").items():
        if found == kind:
            columns = {name: windows[name][rows].astype(np.float64) for name in names}
            yield subject, {name: _mean(each, (~np.isnan(each)).astype(np.float64)) for name, each in columns.items()}

"""Metrics of one window. Every figure says where it comes from."""

from __future__ import annotations

import attrs


@attrs.frozen(kw_only=True)
class TaskSample:
    """One task: CPU in points, memory in MB, tuples per second in and out, tuples waiting in its queue.

    `source` names how `cpu` was measured (`jvm`, `python_process_time`, `thread`, `declared`, ...).
    """

    task: str
    cpu: float | None = None
    memory: float | None = None
    received: float | None = None
    emitted: float | None = None
    queue: float | None = None
    source: str = ""


@attrs.frozen(kw_only=True)
class Flow:
    """The stream from one task to another: tuples per second and bytes per second (None if not measured)."""

    source: str
    target: str
    tuples: float | None = None
    bytes: float | None = None


@attrs.frozen(kw_only=True)
class NodeSample:
    """One node: CPU in points and memory in MB in use, by anything that runs there."""

    node: str
    cpu: float | None = None
    memory: float | None = None
    source: str = ""


@attrs.frozen(kw_only=True)
class TopologySample:
    """One topology: tuples per second offered to it and completed, complete latency in milliseconds."""

    topology: str
    offered: float | None = None
    throughput: float | None = None
    latency: float | None = None
    source: str = ""


@attrs.frozen(kw_only=True)
class Metrics:
    """One window of measurement, averaged over `window` seconds.

    A topology with any flow is taken as measured: pairs of its tasks without a flow exchange nothing.
    """

    window: float = 0.0
    tasks: tuple[TaskSample, ...] = ()
    flows: tuple[Flow, ...] = ()
    nodes: tuple[NodeSample, ...] = ()
    topologies: tuple[TopologySample, ...] = ()

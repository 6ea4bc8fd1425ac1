"""Metrics of one window. Every figure says where it comes from."""

from __future__ import annotations

import attrs


@attrs.frozen(kw_only=True)
class TaskSample:
    """One task: CPU in points, memory and state in MB, tuples per second in and out, tuples waiting in its queue.

    `state` is what another node has to load before the task can run there.

    `source` names how `cpu` was measured (`jvm`, `python_process_time`, `thread`, `declared`, ...).
    """

    task: str
    cpu: float | None = None
    memory: float | None = None
    received: float | None = None
    emitted: float | None = None
    queue: float | None = None
    source: str = ""
    state: float | None = None


@attrs.frozen(kw_only=True)
class Flow:
    """The stream from one task to another: tuples per second and bytes per second (None if not measured)."""

    source: str
    target: str
    tuples: float | None = None
    bytes: float | None = None


@attrs.frozen(kw_only=True)
class StreamSample:
    """One stream, evenly spread: every task of the source sends as much to every task of the target.

    Tuples per second and bytes per second (None if not measured) of all its pairs of tasks together.
    """

    topology: str
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
    """One topology: tuples per second offered to it and completed, complete latency in milliseconds.

    `interval` is the time from one batch to the next in seconds, of a topology that works in batches.
    """

    topology: str
    offered: float | None = None
    throughput: float | None = None
    latency: float | None = None
    source: str = ""
    interval: float | None = None


@attrs.frozen(kw_only=True)
class Metrics:
    """One window of measurement, averaged over `window` seconds.

    A topology with any flow or stream is taken as measured: pairs of its tasks without one exchange nothing. A pair
    exchanges what its flow says and its share of the stream, so that a stream and its largest flows need few words.
    """

    window: float = 0.0
    tasks: tuple[TaskSample, ...] = ()
    flows: tuple[Flow, ...] = ()
    nodes: tuple[NodeSample, ...] = ()
    topologies: tuple[TopologySample, ...] = ()
    streams: tuple[StreamSample, ...] = ()

"""Measurements as rows of one table: the same columns for every engine.

A row is one sample of one window, and `kind` says of what. Columns that a kind has no use for are null in it, and so is
what was not measured. Rates are averages over the window.

| column | in | is |
|---|---|---|
| version | all | version of these columns, 2; a column that is added later is null in older files |
| kind | all | `task`, `flow`, `node`, `topology`, `stream` (evenly spread between all pairs of tasks) |
| engine | all | who was watched: `storm`, `spark`, `sim` |
| origin, number | all | the monitor (or one life of a worker), and the number of its window: with the names a key |
| start, end | all | the window (UTC) |
| topology | task, flow, stream, topology | id of the topology |
| component, role | task, flow, stream | component of the task (the sender); `spout` or `bolt` |
| task | task, flow, stream | id of the sender, `topology/component/index`; of a stream `topology/component` |
| target, target_component | flow, stream | the same of the receiver |
| node, port | all | where the task ran; of a node or topology: the worker whose share it is, null port for the whole |
| machine_type | task, flow, node | type of that node, null if it has none |
| cpu, memory | task, node | points (100 = one core) and MB |
| received, emitted | task | tuples/s |
| queue | task | tuples waiting |
| tuples, bytes | flow, stream | tuples/s and bytes/s, of a stream those of all pairs together |
| offered, throughput, latency | topology | tuples/s offered and completed, milliseconds |
| source | task, node, topology | how it was measured |
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from headworks.model import Metrics, Observation, Slot

VERSION = 1
"""Version of the columns."""

AMOUNTS = (
    *("cpu", "memory", "received", "emitted", "queue", "tuples", "bytes"),
    *("offered", "throughput", "latency"),
)
"""Columns that hold what was measured."""
COLUMNS = {
    "version": "int32",
    "kind": "string",
    "engine": "string",
    "origin": "string",
    "number": "int64",
    "start": "timestamp",
    "end": "timestamp",
    "topology": "string",
    "component": "string",
    "role": "string",
    "task": "string",
    "target": "string",
    "target_component": "string",
    "node": "string",
    "port": "int32",
    "machine_type": "string",
    **dict.fromkeys(AMOUNTS, "double"),
    "source": "string",
}
"""Type of each column by name; a timestamp is in microseconds, UTC."""


def rows_of(
    observation: Observation, *, engine: str, origin: str, number: int, end: float, share: int | None = None
) -> Iterator[dict[str, Any]]:
    """The samples of one observation, a row each. Pure.

    Args:
        observation: What a monitor saw; its metrics say how long the window was.
        origin: Who measured: unique among all that write samples of this engine.
        end: When the window ended, seconds since 1970.
        share: Port of the one worker that was measured, where nodes and topologies are seen worker by worker.
    """
    metrics = observation.metrics
    common = {
        "version": VERSION,
        "engine": engine,
        "origin": origin,
        "number": number,
        "start": datetime.fromtimestamp(end - metrics.window, UTC),
        "end": datetime.fromtimestamp(end, UTC),
    }
    nodes = {node.id: node.machine_type for node in observation.cluster.nodes}
    names = _names(observation)
    for row in _of_tasks(metrics, names, observation.assignment, nodes):
        yield {**common, **row}
    for node in metrics.nodes:
        amounts = {"cpu": node.cpu, "memory": node.memory, "source": node.source}
        place = {"node": node.node, "port": share, "machine_type": nodes.get(node.node)}
        yield {**common, "kind": "node", **place, **amounts}
    for each in metrics.topologies:
        amounts = {"offered": each.offered, "throughput": each.throughput, "latency": each.latency}
        yield {**common, "kind": "topology", "topology": each.topology, "port": share, **amounts, "source": each.source}
    for row in _of_streams(observation):
        yield {**common, **row}


def _of_streams(observation: Observation) -> Iterator[dict[str, Any]]:
    role = {(one.id, part.id): part.kind.value for one in observation.topologies for part in one.components}
    for each in observation.metrics.streams:
        source = {"component": each.source, "role": role.get((each.topology, each.source))}
        ends = {"task": f"{each.topology}/{each.source}", "target": f"{each.topology}/{each.target}"}
        target = {"target_component": each.target, "tuples": each.tuples, "bytes": each.bytes}
        yield {"kind": "stream", "topology": each.topology, **source, **ends, **target}


def _of_tasks(
    metrics: Metrics,
    names: Mapping[str, dict[str, str]],
    assignment: Mapping[str, Slot],
    nodes: Mapping[str, str | None],
) -> Iterator[dict[str, Any]]:
    def place(task: str) -> dict[str, Any]:
        if (slot := assignment.get(task)) is None:
            return {}
        return {"node": slot.node, "port": slot.port, "machine_type": nodes.get(slot.node)}

    for task in metrics.tasks:
        amounts = {name: getattr(task, name) for name in ("cpu", "memory", "received", "emitted", "queue", "source")}
        yield {"kind": "task", "task": task.task, **names.get(task.task, {}), **place(task.task), **amounts}
    for flow in metrics.flows:
        target = {"target": flow.target, "target_component": names.get(flow.target, {}).get("component")}
        amounts = {"tuples": flow.tuples, "bytes": flow.bytes}
        yield {
            "kind": "flow",
            "task": flow.source,
            **names.get(flow.source, {}),
            **place(flow.source),
            **target,
            **amounts,
        }


def _names(observation: Observation) -> dict[str, dict[str, str]]:
    """Topology, component and role of every task, by its id."""
    return {
        f"{topology.id}/{each.id}/{index}": {"topology": topology.id, "component": each.id, "role": each.kind.value}
        for topology in observation.topologies
        for each in topology.components
        for index in range(each.parallelism)
    }

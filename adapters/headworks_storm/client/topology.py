"""Translation of a Storm topology, its Thrift struct and its configuration, to a topology of the model."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from headworks.errors import DocumentError
from headworks.model import Component, Kind, Resources, Stream, Topology

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from headworks_storm.client.thrift import Struct

SPOUTS, BOLTS = 1, 2
"""Fields of StormTopology: id -> component."""
COMMON = 2
"""Field of SpoutSpec and Bolt: their ComponentCommon."""
INPUTS, PARALLELISM, CONF = 1, 3, 4
"""Fields of ComponentCommon: GlobalStreamId -> Grouping, parallelism hint, JSON configuration."""
GROUPINGS = {
    1: "fields",
    2: "shuffle",
    3: "all",
    4: "none",
    5: "direct",
    6: "custom",
    7: "custom",
    8: "local-or-shuffle",
}
"""Fields of the union Grouping."""

CPU = "topology.component.cpu.pcore.percent"
ON_HEAP = "topology.component.resources.onheap.memory.mb"
OFF_HEAP = "topology.component.resources.offheap.memory.mb"
DECLARED = "topology.component.resources.map"
"""Keys of a component's configuration by which it declares its demand."""
DEFAULTS = {CPU: 10.0, ON_HEAP: 128.0, OFF_HEAP: 0.0}
"""Demand of a component that declares none, in points and MB (Storm's defaults.yaml)."""
WORKER_HEAP = 768.0
"""MB of heap of a worker whose topology states none (Storm's defaults.yaml)."""


def topology_of(name: str, code: Struct, conf: Mapping[str, Any]) -> Topology:
    """Translate a topology.

    A task's memory is its on-heap and off-heap memory together, its heap is the on-heap part. Nothing is known
    of rates: every stream carries 1 tuple/s (uniform traffic), so that the traffic counts streams.

    Args:
        name: Id of the topology.
        conf: The topology's configuration.

    Raises:
        DocumentError: A field that has to be there is not, or has another type.
    """
    try:
        components = tuple(_components(code, conf))
        return Topology(
            id=name,
            components=components,
            streams=tuple(_streams(code)),
            owner=conf.get("topology.submitter.user"),
            priority=int(conf.get("topology.priority") or 0),
            workers=int(conf.get("topology.workers") or 1),
            worker_heap=float(conf.get("topology.worker.max.heap.size.mb") or WORKER_HEAP),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DocumentError("", f"{name} is not a Storm topology: {error!r}") from error


def _components(code: Struct, conf: Mapping[str, Any]) -> Iterator[Component]:
    # A topology's configuration holds defaults for its components, whose own win.
    usual = DEFAULTS | _resources(conf)
    for field, kind in ((SPOUTS, Kind.SPOUT), (BOLTS, Kind.BOLT)):
        for name, component in code.get(field, []):
            common = component[COMMON]
            needs = usual | _resources(json.loads(common.get(CONF) or b"{}"))
            heap, cpu = needs.pop(ON_HEAP), needs.pop(CPU)
            memory = heap + needs.pop(OFF_HEAP)
            yield Component(
                id=name.decode(),
                kind=kind,
                parallelism=int(common.get(PARALLELISM, 0)),
                demand=Resources({"cpu": cpu, "memory": memory} | needs),
                heap=heap,
            )


def _resources(conf: Mapping[str, Any]) -> dict[str, float]:
    """Declared amounts by Storm's own names; those in the resource map win."""
    plain = {name: conf[name] for name in DEFAULTS if conf.get(name) is not None}
    return {name: float(amount) for name, amount in (plain | (conf.get(DECLARED) or {})).items()}


def _streams(code: Struct) -> Iterator[Stream]:
    for field in (SPOUTS, BOLTS):
        for target, component in code.get(field, []):
            for stream, grouping in component[COMMON].get(INPUTS, []):
                yield Stream(  # GlobalStreamId: 1 is the component, 2 the stream
                    source=stream[1].decode(),
                    target=target.decode(),
                    name=stream[2].decode(),
                    grouping=_grouping(grouping),
                    rate=1.0,
                )


def _grouping(union: Struct) -> str:
    """Name of the one field that is set; a fields grouping without fields is Storm's global grouping."""
    ((field, value),) = union.items()
    return "global" if field == 1 and not value else GROUPINGS[field]

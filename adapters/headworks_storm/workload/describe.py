"""The description of a topology of the model, from which the Java runner builds a real one.

A component of the runner uses processor time for each tuple and emits as many as its selectivity says; some have a real
role instead (a text, a count of words). The classes are in `java/src/main/java/headworks/storm/workload`.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import attrs

from headworks.model import Kind
from headworks.model.rates import stream_rates
from headworks.model.topology import TUPLE_BYTES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headworks.model import Component, Profile, Stream, Topology

MICROS_PER_POINT = 10_000
"""Microseconds of processor time in a second that one point stands for: 100 points are one core."""
FIELDS = {
    "text": "line",
    "page-views": "page",
    "split": "word",
    "count": "word",
    "score": "word",
    "rolling-count": "word",
    "persons": "id",
    "auctions": "seller",
    "bids": "auction",
    "hot-items": "start",
}
"""The field by which the tuples of a role are grouped; those of a component without a role have a `key`."""
FIELDS_FOR = {("auctions", "winning-bids"): "id", ("bids", "sessions"): "bidder"}
"""The field where another one counts, by role of the source and of the target."""


@attrs.frozen(kw_only=True)
class Load:
    """Factors on a topology's declared demand, for what its components really use.

    Attributes:
        cpu: Part of the declared processor time that is really used.
        memory: Part of the declared heap that is really held.
        rate: Part of the declared rate at which spouts emit.
    """

    cpu: float = 1.0
    memory: float = 0.0
    rate: float = 1.0


def describe(
    topology: Topology,
    profiles: Sequence[Profile] = (),
    *,
    roles: Mapping[str, str] | None = None,
    load: Load | None = None,
    conf: Mapping[str, Any] | None = None,
    text: str = "",
    lexicon: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """Describe a topology as plain data for the runner.

    A tuple costs what the component's profile says (`e`, percent-seconds), else its declared CPU at its declared rate.

    Args:
        topology: A spout without a rate emits as fast as it can.
        profiles: Of several machine types of a component, the first by name counts.
        roles: Role by component id, such as `text` or `count`: what the component does instead of using time.
        load: Factors on what is declared; all of the CPU and the rate, none of the memory by default.
        conf: Storm's settings of the topology; workers and worker heap are added.
        text: The text that components with the role `text` read, line by line, again and again.
        lexicon: Value of each word by which components with the role `score` score.

    Returns:
        Name, settings, components, text and lexicon, ready for JSON; see `headworks.storm.workload.Builder`.

    Raises:
        DocumentError: A cycle of streams has no stated rate.
    """
    load, roles = load or Load(), roles or {}
    costs = {each.component: each.e for each in _by_machine_type(profiles) if each.topology == topology.id}
    rates = _received(topology)
    components = [
        _component(each, topology, roles, load, _micros(each, costs, rates) * load.cpu) for each in topology.components
    ]
    settings = {"topology.workers": topology.workers, **(conf or {})}
    if topology.worker_heap is not None:
        settings.setdefault("topology.worker.max.heap.size.mb", topology.worker_heap)
    described = {"name": topology.id, "conf": settings, "components": components, "text": text}
    return described if lexicon is None else {**described, "lexicon": dict(lexicon)}


def _by_machine_type(profiles: Sequence[Profile]) -> list[Profile]:
    """Profiles with the first machine type by name last: a dict of them by component keeps that one."""
    return sorted(profiles, key=lambda each: each.machine_type, reverse=True)


def _received(topology: Topology) -> dict[str, float]:
    """Tuples per second that a component receives, or emits if it is a spout, all its tasks together."""
    rates: dict[str, float] = defaultdict(float)
    for stream, rate in zip(topology.streams, stream_rates(topology), strict=True):
        rates[stream.target] += rate
    return rates | {each.id: each.rate or 0.0 for each in topology.components if each.kind is Kind.SPOUT}


def _micros(component: Component, costs: Mapping[str, float], rates: Mapping[str, float]) -> float:
    """Microseconds of processor time for a tuple: e of the profile, else declared CPU over the rate of one task."""
    if component.id in costs:
        return costs[component.id] * MICROS_PER_POINT
    per_task = rates.get(component.id, 0.0) / component.parallelism if component.parallelism else 0.0
    return component.demand.cpu * MICROS_PER_POINT / per_task if per_task else 0.0


def _component(
    component: Component, topology: Topology, roles: Mapping[str, str], load: Load, micros: float
) -> dict[str, Any]:
    heap = component.task_heap
    rate = (component.rate or 0.0) * load.rate / max(component.parallelism, 1)
    return {
        "id": component.id,
        "kind": component.kind.value,
        "role": roles.get(component.id, ""),
        "tasks": component.parallelism,
        "cpu": component.demand.cpu,
        "heap": heap,
        "offheap": max(component.demand.memory - heap, 0.0),
        "rate": rate,
        "micros": micros,
        "selectivity": component.selectivity,
        "held": heap * load.memory,
        "inputs": [_input(each, roles) for each in topology.streams if each.target == component.id],
        "outputs": [_output(each) for each in _outputs(component, topology)],
    }


def _outputs(component: Component, topology: Topology) -> list[Stream]:
    """One stream of each name: Storm sends it to every component that subscribed."""
    return list({_name(each): each for each in topology.streams if each.source == component.id}.values())


def _name(stream: Stream) -> str:
    """Name of a stream; of streams that share one's tuples among their targets, each needs a name of its own."""
    return f"{stream.name}-{stream.target}" if stream.fanout == "split" else stream.name


def _output(stream: Stream) -> dict[str, Any]:
    size = TUPLE_BYTES if stream.tuple_bytes is None else stream.tuple_bytes
    return {"stream": _name(stream), "bytes": int(size), "split": stream.fanout == "split"}


def _input(stream: Stream, roles: Mapping[str, str]) -> dict[str, str]:
    source, target = roles.get(stream.source, ""), roles.get(stream.target, "")
    field = FIELDS_FOR.get((source, target)) or FIELDS.get(source, "key")
    return {"source": stream.source, "stream": _name(stream), "grouping": stream.grouping, "field": field}

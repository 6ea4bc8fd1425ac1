"""Requests that are small enough to work out by hand."""

from __future__ import annotations

from headworks.model import (
    Cluster,
    Component,
    FrozenMap,
    Kind,
    Limits,
    Node,
    Request,
    Resources,
    Slot,
    Stream,
    Topology,
)


def node(name: str, cpu: float = 100.0, slots: int = 2, **more) -> Node:
    capacity = Resources({"cpu": cpu, "memory": 1000.0})
    return Node(id=name, capacity=capacity, slots=tuple(range(6700, 6700 + slots)), **more)


def component(name: str, tasks: int = 1, cpu: float = 50.0, **more) -> Component:
    return Component(id=name, parallelism=tasks, demand=Resources({"cpu": cpu}), **more)


def topology(name: str, *parts: Component, streams: tuple[Stream, ...] = (), **more) -> Topology:
    return Topology(id=name, components=parts, streams=streams, **more)


def at(text: str) -> Slot:
    """`a:6700` or, for the first slot, `a`."""
    return Slot.parse(text if ":" in text else f"{text}:6700")


def request(nodes, topologies, running=(), max_moves=None, **more) -> Request:
    return Request(
        cluster=Cluster(nodes=tuple(nodes)),
        topologies=tuple(topologies),
        assignment=FrozenMap({task: at(slot) for task, slot in dict(running).items()}),
        limits=Limits(max_moves=max_moves),
        **more,
    )


def word_count() -> Request:
    """One spout, two splitters, two counters on two nodes; nothing runs yet."""
    parts = (
        component("spout", 1, 20.0, kind=Kind.SPOUT, rate=100.0),
        component("split", 2, 30.0, selectivity=5.0),
        component("count", 2, 25.0),
    )
    streams = (
        Stream(source="spout", target="split"),
        Stream(source="split", target="count", grouping="fields", tuple_bytes=20.0),
    )
    return request([node("a"), node("b", price=0.5)], [topology("words", *parts, streams=streams)])

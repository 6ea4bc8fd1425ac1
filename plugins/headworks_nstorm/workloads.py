"""The linear topology of section 5.1 on two nodes, as a word count and as a heavy computation.

Parallelism, Workers and nodes are printed; how words are spread over the counters is not. Frequencies of words fall
with their rank; `skew` is the exponent with which the load of the executors of a bolt falls with their index.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headworks.model import (
    Cluster,
    Component,
    Flow,
    FrozenMap,
    Kind,
    Metrics,
    Node,
    Request,
    Resources,
    Slot,
    Stream,
    TaskSample,
    Topology,
    Workload,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

SPOUTS, SPLITTERS, COUNTERS, WORKERS = 8, 12, 24, 8
"""Executors of the spout, of Bolt 1 and of Bolt 2, and Workers; the spout's are one a Worker (not printed)."""
SENTENCES = 1000.0
"""Tuples per second that the spouts emit; all figures are shares."""
POINTS = 10.0
"""CPU points of an executor of the word count (assumed): all of them together leave a node under low load."""
SERVER = Resources(cpu=1600.0, memory=131072.0)
"""Two Xeon E5-2620 v4 with 8 cores each, 128 GB."""


def shares(count: int, skew: float) -> list[float]:
    """Shares that add up to 1, falling with the index: 1 / (index + 1) ** skew.

    Args:
        count: Number of shares.
        skew: Exponent with which they fall; 0 makes all equal.
    """
    raw = [(index + 1) ** -skew for index in range(count)]
    return [each / sum(raw) for each in raw]


def word_count(words: int = 8, skew: float = 0.3) -> Request:
    """Sentences of so many words, split by Bolt 1 and counted by Bolt 2, dealt round robin over two nodes.

    Every splitter gets as many sentences as any other; a counter gets its share of the words.

    Args:
        words: Words of a sentence.
        skew: Exponent with which the load of the counters falls with their index.
    """
    flows = [
        Flow(source=f"words/spout/{one}", target=f"words/bolt-1/{two}", tuples=SENTENCES / SPOUTS / SPLITTERS)
        for one in range(SPOUTS)
        for two in range(SPLITTERS)
    ]
    for index, share in enumerate(shares(COUNTERS, skew)):
        rate = SENTENCES * words * share / SPLITTERS
        flows += [
            Flow(source=f"words/bolt-1/{one}", target=f"words/bolt-2/{index}", tuples=rate) for one in range(SPLITTERS)
        ]
    nodes = tuple(Node(id=f"node-{name}", capacity=SERVER, slots=(6700, 6701, 6702, 6703)) for name in "ab")
    topology = _linear(POINTS, words)
    return Request(
        cluster=Cluster(nodes=nodes),
        topologies=(topology,),
        assignment=_dealt(topology, [Slot(node.id, port) for port in nodes[0].slots for node in nodes]),
        metrics=Metrics(window=5.0, flows=tuple(flows)),
    )


def computation(skew: float = 0.3) -> Request:
    """Bolt 1 computes, skewed. The eight Workers stand for nodes, as loads are theirs; the fullest is busy 100 %."""
    topology = _linear(0.0, 1)
    slots = [Slot(f"worker-{number}", 6700) for number in range(WORKERS)]
    assignment = _dealt(topology, slots)
    cpu = {f"words/bolt-1/{index}": 1200 * share for index, share in enumerate(shares(SPLITTERS, skew))}
    load = dict.fromkeys((slot.node for slot in slots), 0.0)
    for task, points in cpu.items():
        load[assignment[task].node] += points
    most = Resources(cpu=max(load.values()) + 1e-3, memory=SERVER.memory)
    return Request(
        cluster=Cluster(nodes=tuple(Node(id=slot.node, capacity=most, slots=(6700,)) for slot in slots)),
        topologies=(topology,),
        assignment=assignment,
        metrics=Metrics(window=5.0, tasks=tuple(TaskSample(task=task, cpu=points) for task, points in cpu.items())),
    )


def _linear(points: float, words: float) -> Topology:
    def part(name: str, count: int, **more: object) -> Component:
        return Component(id=name, parallelism=count, demand=Resources(cpu=points), **more)  # type: ignore[arg-type]

    return Topology(
        id="words",
        components=(
            part("spout", SPOUTS, kind=Kind.SPOUT, rate=SENTENCES),
            part("bolt-1", SPLITTERS, selectivity=words),
            part("bolt-2", COUNTERS),
        ),
        streams=(Stream(source="spout", target="bolt-1"), Stream(source="bolt-1", target="bolt-2", grouping="fields")),
        workers=WORKERS,
    )


def _dealt(topology: Topology, slots: Sequence[Slot]) -> FrozenMap[str, Slot]:
    """Storm's deployment: executors round robin over Workers, those over nodes."""
    return FrozenMap({task.id: slots[turn % len(slots)] for turn, task in enumerate(topology.tasks())})


def workloads() -> Sequence[Workload]:
    """The two applications of section 5.3."""
    return (
        Workload(
            name="word-count",
            summary="communication-intensive: sentences to words to counts, on two nodes",
            build=word_count,
        ),
        Workload(
            name="computation", summary="computation-intensive: Bolt 1 computes, eight Workers", build=computation
        ),
    )

"""The micro-benchmark of section 5.5 on its twelve nodes, and a word count.

The paper prints topologies and settings, no operator costs. Those here are calibrated: three numbers, fitted so that
Linear, Star and Diamond use the machines of Fig. 5.8 at 10,000 tuples/s; everything else follows from them.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import attrs

from headworks.model import Cluster, Component, Kind, Node, Request, Resources, Stream, Topology, Workload

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

POINTS = 0.00355
"""Points that one operator needs for each tuple/s and unit of Cs (calibrated); larger ones need more machines."""
SPOUT_WEIGHT = 0.7
"""Cost of sending from a spout, relative to receiving in a bolt (calibrated)."""
OVERHEAD = 80.0
"""Points that the executors of one operator need in idle, whatever their number (calibrated)."""
TASK_MEMORY = 256.0
"""MB of one task: small enough that CPU is what counts, as the text says of the micro-benchmark."""

FLAVOURS = (("large", 400, 12288, 0.1168), ("medium", 200, 6144, 0.0584), ("small", 100, 4096, 0.0292))
"""Name, points, MB and dollars per hour of the three machine types, four nodes of each (section 5.5.1)."""

SHAPES = {
    "linear": ((1, 2), (2, 3), (3, 4)),
    "diamond": ((1, 2), (1, 3), (2, 4), (3, 4)),
    "star": ((1, 3), (2, 3), (3, 4), (3, 5)),
}
"""Streams between operators. Diamond and Star are deduced: of the layouts tried, only these fit Fig. 5.8."""


@attrs.frozen(kw_only=True)
class BenchmarkSetting:
    """A row of Table 5.3; the defaults are the paper's.

    Attributes:
        cs: CPU load of each operator, in 100 random numbers drawn for each tuple.
        ss: Selectivity of each operator, spouts included.
        ts: Tasks of each operator.
        ps: Tuples per second of the profiling stream, shared by the spouts.
    """

    cs: float = 10
    ss: float = 1
    ts: int = 4
    ps: float = 2500


def cluster() -> Cluster:
    """The twelve worker nodes; ids sort large before medium before small."""
    return Cluster(
        nodes=tuple(
            Node(
                id=f"{name}-{number}",
                capacity=Resources(cpu=points, memory=memory),
                machine_type=name,
                price=price,
                slots=(6700,),
            )
            for name, points, memory, price in FLAVOURS
            for number in range(1, 5)
        )
    )


def micro_benchmark(shape: str, setting: BenchmarkSetting) -> Request:
    """Linear, diamond or star with one setting.

    Args:
        shape: `linear`, `diamond` or `star`.
        setting: Parameters of Table 5.3.
    """
    streams = tuple(Stream(source=f"op{source}", target=f"op{target}") for source, target in SHAPES[shape])
    components = tuple(_operators(shape, setting))
    return Request(cluster=cluster(), topologies=(Topology(id=shape, components=components, streams=streams),))


def _operators(shape: str, setting: BenchmarkSetting) -> Iterator[Component]:
    """Operators in stream order; a bolt receives everything that every operator before it emits."""
    pairs = SHAPES[shape]
    names = range(1, 1 + max(target for _, target in pairs))
    spouts = set(names) - {target for _, target in pairs}
    emitted: dict[int, float] = {}
    for name in names:
        spout = name in spouts
        before = [source for source, target in pairs if target == name]
        tuples = setting.ps / len(spouts) if spout else sum(emitted[source] for source in before)
        emitted[name] = tuples * setting.ss
        points = OVERHEAD + POINTS * setting.cs * tuples * (SPOUT_WEIGHT if spout else 1)
        yield Component(
            id=f"op{name}",
            kind=Kind.SPOUT if spout else Kind.BOLT,
            parallelism=setting.ts,
            demand=Resources(cpu=points / setting.ts, memory=TASK_MEMORY),
            rate=emitted[name] if spout else None,
            selectivity=setting.ss,
            # The paper prints no threads: an operator has those that its calibrated load needs.
            threads=math.ceil(points / setting.ts / 100.0),
        )


def word_count() -> Request:
    """Sentences of eight words, split and counted: traffic grows on the way."""
    components = (
        Component(id="sentences", kind=Kind.SPOUT, parallelism=2, demand=_task(20), rate=4000),
        Component(id="split", parallelism=4, demand=_task(40), selectivity=8),
        Component(id="count", parallelism=8, demand=_task(30)),
    )
    streams = (
        Stream(source="sentences", target="split", tuple_bytes=50),
        Stream(source="split", target="count", grouping="fields", tuple_bytes=8),
    )
    return Request(cluster=cluster(), topologies=(Topology(id="word-count", components=components, streams=streams),))


def _task(points: float) -> Resources:
    return Resources(cpu=points, memory=TASK_MEMORY)


def workloads() -> Sequence[Workload]:
    """The micro-benchmark at its defaults and at the far end of each setting, and the word count."""
    ends = {
        "": BenchmarkSetting(),
        "-cs40": BenchmarkSetting(cs=40),
        "-ss2": BenchmarkSetting(ss=2),
        "-ts16": BenchmarkSetting(ts=16),
        "-ps10000": BenchmarkSetting(ps=10_000),
    }
    micro = [
        Workload(
            name=shape + end,
            summary=f"{shape.capitalize()} at Cs {at.cs:g}, Ss {at.ss:g}, Ts {at.ts}, Ps {at.ps:g} (Table 5.3)",
            build=partial(micro_benchmark, shape, at),
        )
        for shape in SHAPES
        for end, at in ends.items()
    ]
    counting = Workload(name="wordcount", summary="Word count: three operators, fields grouping", build=word_count)
    return (*micro, counting)

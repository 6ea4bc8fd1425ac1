"""The topologies of the evaluation, their profiles, and the clusters of Table 4.

The layouts of Fig. 9 are drawn, not printed: Linear L -> M -> H follows from the prose; Diamond L -> {M, H} -> L and
Star {L, M} -> H -> {L, M} are assumptions. Table 3 is headed "(s)"; its numbers make sense as percent-seconds.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from headworks.model import Cluster, Component, Kind, Node, Profile, Request, Resources, Stream, Topology, Workload

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

TYPES = ("machine-1", "machine-2", "machine-3")
COST = {"L": (0.0581, 0.107, 0.0916), "M": (0.103, 0.1844, 0.168), "H": (0.1915, 0.3449, 0.3207)}
"""Table 3: e of lowCompute, midCompute and highCompute on the three machine types."""
SCENARIOS = {"three": (1, 1, 1), "small": (2, 2, 2), "medium": (10, 10, 10), "large": (20, 70, 90)}
"""Machines of each type; the last three are Table 4."""
SHAPES = {
    "linear": (("1L", "2M", "3H"), (("1L", "2M"), ("2M", "3H"))),
    "diamond": (("1L", "2M", "3H", "4L"), (("1L", "2M"), ("1L", "3H"), ("2M", "4L"), ("3H", "4L"))),
    "star": (("1L", "2M", "3H", "4L", "5M"), (("1L", "3H"), ("2M", "3H"), ("3H", "4L"), ("3H", "5M"))),
}
"""Components, named by place and type, and streams."""

Point = tuple[float, float, float, float]

BOLTS: dict[str, dict[str, dict[str, Point]]] = {
    "rolling-count": {
        "split": {"amd": (277, 10, 60, 40), "i3": (244, 10, 72, 10), "i5": (295, 10, 160, 10)},
        "rolling-count": {"amd": (1853, 1, 299, 30), "i3": (2300, 1, 697, 10), "i5": (2872, 1, 1586, 10)},
    },
    "unique-visitor": {
        "view": {"amd": (300, 1, 239, 30), "i3": (2806, 1, 680, 10), "i5": (2866, 1, 927, 10)},
        "unique-visitor": {"amd": (381, 0.5, 91, 40), "i3": (2909, 0.5, 774, 10), "i5": (3013, 0.5, 790, 10)},
    },
}
"""Measured points of the bolts of Storm-Benchmark, as the authors published them with their scheduler: input rate,
alpha, tuples/s that one percent pays for (1/e), and percent used. MET = used - e * rate."""
BENCH = {"three": (1, 1, 1), "nine": (3, 3, 3)}


def cluster(machines: Mapping[str, int]) -> Cluster:
    """Machines of each type, each with one worker process."""
    return Cluster(
        nodes=tuple(
            Node(id=f"{kind}-{number:04d}", capacity=Resources(cpu=100.0), machine_type=kind, slots=(6700,))
            for kind, count in machines.items()
            for number in range(1, count + 1)
        )
    )


def micro_benchmark(shape: str, machines: Sequence[int], met: float = 0.0) -> Request:
    """Linear, diamond or star on so many machines of each type; `met` is printed nowhere.

    Args:
        shape: `linear`, `diamond` or `star`.
        machines: Number of machines of each type.
        met: Fixed cost of a task (MET), percent of a machine.
    """
    names, pairs = SHAPES[shape]
    targets = {target for _, target in pairs}
    parts = tuple(
        Component(id=name, kind=Kind.BOLT, parallelism=1)
        if name in targets
        else Component(id=name, kind=Kind.SPOUT, rate=1.0)
        for name in names
    )
    streams = tuple(Stream(source=source, target=target, fanout="split") for source, target in pairs)
    profiles = tuple(
        Profile(topology=shape, component=name, machine_type=kind, e=e, met=met)
        for name in names
        for kind, e in zip(TYPES, COST[name[1]], strict=True)
    )
    return Request(
        cluster=cluster(dict(zip(TYPES, machines, strict=True))),
        topologies=(Topology(id=shape, components=parts, streams=streams),),
        profiles=profiles,
    )


def bench(name: str, machines: Sequence[int]) -> Request:
    """RollingCount or UniqueVisitor, whose two bolts are profiled; the spout that feeds them costs nothing.

    Args:
        name: `rolling-count` or `unique-visitor`.
        machines: Number of machines of each type.
    """
    bolts = BOLTS[name]
    first, second = bolts
    alphas = {bolt: next(iter(points.values()))[1] for bolt, points in bolts.items()}
    parts = (
        Component(id="feed", kind=Kind.SPOUT, rate=1.0),
        *(Component(id=bolt, selectivity=alpha) for bolt, alpha in alphas.items()),
    )
    streams = (Stream(source="feed", target=first), Stream(source=first, target=second, grouping="fields"))
    return Request(
        cluster=cluster(dict(zip(("amd", "i3", "i5"), machines, strict=True))),
        topologies=(Topology(id=name, components=parts, streams=streams),),
        profiles=tuple(_measured(name, bolts)),
    )


def _measured(name: str, bolts: Mapping[str, Mapping[str, Point]]) -> Iterator[Profile]:
    for bolt, points in bolts.items():
        for kind, (rate, alpha, worth, used) in points.items():
            met = fixed_cost(used, rate, 1 / worth)
            yield Profile(topology=name, component=bolt, machine_type=kind, e=1 / worth, met=met, alpha=alpha)


def workloads() -> Sequence[Workload]:
    """Each shape on each cluster, without fixed cost and with 5 %; the two benchmarks on three and nine machines."""
    micro = [
        Workload(
            name=f"{shape}-{scenario}" + (f"-met{met:g}" if met else ""),
            summary=f"{shape.capitalize()} on {'/'.join(map(str, machines))} machines (Table 4), MET {met:g} %",
            build=partial(micro_benchmark, shape, machines, met),
        )
        for shape in SHAPES
        for scenario, machines in SCENARIOS.items()
        for met in (0.0, 5.0)
    ]
    benches = [
        Workload(
            name=f"{name}-{size}",
            summary=f"{name} of Storm-Benchmark on {sum(machines)} machines, profiles as measured",
            build=partial(bench, name, machines),
        )
        for name in BOLTS
        for size, machines in BENCH.items()
    ]
    return (*micro, *benches)


def fixed_cost(used: float, rate: float, e: float) -> float:
    """MET of Eq. 5 at the highest point measured: percent used - e * rate, and never below 0.

    Section "CPU usage prediction". Points of several rates are fitted by `headworks pipeline run`.

    Args:
        used: Percent of the machine.
        rate: Tuples/s.
        e: Percent-seconds of one tuple, as the engine measures it (100 times its seconds).
    """
    return max(0.0, used - e * rate)

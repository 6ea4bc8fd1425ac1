"""What became of an experiment: figures over all of it, of each topology, and over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np

from headgate.model import FrozenMap

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headgate_sim.world import Span, World

DEGRADED = 0.4
"""A topology that completes less than this part of its nominal load is degraded (by 60 %, paper 001, section 5.2)."""
POINTS = 400
"""A curve has about so many points."""


@attrs.frozen(kw_only=True)
class Point:
    """The mean of a short stretch of time: its end in seconds, figures of all topologies together."""

    time: float
    offered: float
    throughput: float
    latency: float | None
    inter_node: float
    backlog: float
    nodes: int


@attrs.frozen(kw_only=True)
class TopologySummary:
    """One topology over an experiment; `stopped` and `degraded` in seconds, `latency` in milliseconds."""

    topology: str
    offered: float
    throughput: float
    latency: float | None
    stopped: float
    degraded: float
    backlog: float


@attrs.frozen(kw_only=True)
class Summary:
    """What became of an experiment.

    Attributes:
        scheduler: Its name.
        duration: Simulated seconds; the experiment ends with the round in which `duration` is reached.
        offered: Tuples/s that came in, mean.
        throughput: Tuples/s completed, mean.
        latency: Milliseconds from the source to completion, mean over tuples; None if there were none.
        inter_node: Share of tuples between tasks that crossed nodes.
        nodes: Nodes that hosted a task, mean over time.
        moves: Tasks that left a worker for another one, or for nowhere.
        placed: Tasks that were started without having run.
        stopped: Seconds in which some topology with a load completed nothing.
        degraded: Seconds in which some topology with a load completed less than 40 % of it.
        backlog: Tuples that wait at the end.
        rounds: How many rounds ended how.
        topologies: Each of them.
        curve: Figures over time.
    """

    scheduler: str
    duration: float
    offered: float
    throughput: float
    latency: float | None
    inter_node: float
    nodes: float
    moves: int
    placed: int
    stopped: float
    degraded: float
    backlog: float
    rounds: FrozenMap[str, int]
    topologies: tuple[TopologySummary, ...]
    curve: tuple[Point, ...] = ()


def summarise(world: World, scheduler: str, outcomes: Mapping[str, int]) -> Summary:
    """Sum up what a world did so far."""
    spans = world.spans
    length = world.now or 1.0
    late, done = _late(spans)
    nodes = sum(span.length * _nodes(span) for span in spans) / length
    return Summary(
        scheduler=scheduler,
        duration=world.now,
        offered=sum(span.length * float(span.offered.sum()) for span in spans) / length,
        throughput=done / length,
        latency=late / done if done else None,
        inter_node=_share(spans),
        nodes=nodes,
        moves=world.moved,
        placed=world.placed,
        stopped=_seconds(spans, 0.0),
        degraded=_seconds(spans, DEGRADED),
        backlog=float(spans[-1].backlog.sum()) if spans else 0.0,
        rounds=FrozenMap(dict(sorted(outcomes.items()))),
        topologies=tuple(_topology(world, number, spans, length) for number in range(len(world.layout.topologies))),
        curve=tuple(curve(spans, POINTS)),
    )


def curve(spans: Sequence[Span], points: int) -> list[Point]:
    """About so many points: the means of stretches of equal length, longer where nothing happened."""
    if not spans:
        return []
    step, found, part, due = spans[-1].end / points, [], [], spans[-1].end / points
    for span in spans:
        part.append(span)
        if span.end >= due - 1e-9:
            found.append(_point(part))
            part, due = [], max(due + step, span.end)
    return [*found, _point(part)] if part else found


def _point(spans: Sequence[Span]) -> Point:
    length = sum(span.length for span in spans)
    late, done = _late(spans)
    return Point(
        time=spans[-1].end,
        offered=sum(span.length * float(span.offered.sum()) for span in spans) / length,
        throughput=done / length,
        latency=late / done if done else None,
        inter_node=_share(spans),
        backlog=float(spans[-1].backlog.sum()),
        nodes=_nodes(spans[-1]),
    )


def _late(spans: Sequence[Span]) -> tuple[float, float]:
    """Milliseconds that tuples took, all together, and how many there were."""
    late = sum(span.length * float(span.throughput @ span.latency) for span in spans)
    return late, sum(span.length * float(span.throughput.sum()) for span in spans)


def _share(spans: Sequence[Span]) -> float:
    total = across = 0.0
    for span in spans:
        for factor, share in zip(span.steady.factor.tolist(), span.steady.shares, strict=True):
            total += span.length * factor * share.traffic
            across += span.length * factor * share.inter_node
    return across / total if total else 0.0


def _nodes(span: Span) -> int:
    return int(np.unique(span.steady.node_of[span.steady.there]).size)


def _seconds(spans: Sequence[Span], part: float) -> float:
    """Seconds in which some topology completes no more than a part of what it is offered."""
    return sum(span.length for span in spans if ((span.offered > 0) & (span.throughput <= part * span.offered)).any())


def _topology(world: World, number: int, spans: Sequence[Span], length: float) -> TopologySummary:
    done = sum(span.length * float(span.throughput[number]) for span in spans)
    late = sum(span.length * float(span.throughput[number] * span.latency[number]) for span in spans)

    def under(part: float) -> float:
        return sum(span.length for span in spans if span.offered[number] > 0 and _low(span, number, part))

    return TopologySummary(
        topology=world.layout.topologies[number].id,
        offered=sum(span.length * float(span.offered[number]) for span in spans) / length,
        throughput=done / length,
        latency=late / done if done else None,
        stopped=under(0.0),
        degraded=under(DEGRADED),
        backlog=float(spans[-1].backlog[number]) if spans else 0.0,
    )


def _low(span: Span, number: int, part: float) -> bool:
    return bool(span.throughput[number] <= part * span.offered[number])

"""The summary of an experiment: figures over all of it, of each topology, and over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np

from headworks.model import FrozenMap, Status
from headworks_sim.fluid.queues import LEVELS, distribution

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headworks_sim.fluid.world import SteadySpan, World

DEGRADED = 0.4
"""A topology that completes less than this part of its nominal load is degraded (by 60 %, paper 001, section 5.2)."""
ROUNDING = 1e-9
"""Part of what comes in that may lack where all of it is completed."""
POINTS = 400
"""Points of a curve, about."""
PERCENTS = (0.5, 0.95, 0.99)
"""Parts of the tuples whose latency is told: `latency_p50` and its kin."""
GOLDEN = (5**0.5 - 1) / 2
"""By multiples of it moments are spread over a span evenly, in an order that has nothing to do with latencies."""


@attrs.frozen(kw_only=True)
class CurvePoint:
    """A point of a curve: the means of a short stretch of time over all topologies, by its end in seconds."""

    time: float
    offered: float
    throughput: float
    latency: float | None
    inter_node: float
    backlog: float
    nodes: int


@attrs.frozen(kw_only=True)
class TopologyFigures:
    """The figures of one topology: tuples/s, `latency` in milliseconds, `stopped` and `degraded` in seconds."""

    topology: str
    offered: float
    throughput: float
    latency: float | None
    stopped: float
    degraded: float
    backlog: float


@attrs.frozen(kw_only=True, repr=False)
class Summary:
    """The figures of an experiment, without its warm-up but for `start`, `rounds`, `status` and `placed`.

    Attributes:
        scheduler: Its name.
        duration: Simulated seconds; the experiment ends with the round in which `duration` is reached.
        warm_up: Seconds before them, which are left out.
        start: Seconds from the begin of the warm-up until all tasks run and complete what comes in; None if they
            never do.
        offered: Tuples/s that came in, mean.
        throughput: Tuples/s completed, mean.
        completed: Part of the offered ones that this is, over 1 where a backlog is worked off; None if none came in.
        latency: Milliseconds from the source to completion, mean over tuples; None if there were none. Of a topology
            that works in batches: those of a batch, without the wait for its trigger.
        latency_p50, latency_p95, latency_p99: Milliseconds that so many percent of the tuples do not exceed.
        inter_node: Share of tuples between tasks that crossed nodes.
        nodes: Nodes that hosted a task, mean over time.
        moves: Tasks that left a worker for another one, or for nowhere.
        placed: Tasks that were started without having run.
        stopped: Seconds in which some topology with a load completed nothing.
        degraded: Seconds in which some topology with a load completed less than 40 % of it.
        backlog: Tuples that wait at the end.
        rounds: Number of rounds by outcome.
        status: Labels of the plans that are not plainly `ok`, most frequent first; `ok` if all are, "" without plans.
        topologies: Figures of each topology, by id.
        curve: Figures over time.
    """

    scheduler: str
    duration: float
    warm_up: float
    start: float | None
    offered: float
    throughput: float
    completed: float | None
    latency: float | None
    latency_p50: float | None
    latency_p95: float | None
    latency_p99: float | None
    inter_node: float
    nodes: float
    moves: int
    placed: int
    stopped: float
    degraded: float
    backlog: float
    rounds: FrozenMap[str, int]
    status: str
    topologies: tuple[TopologyFigures, ...]
    curve: tuple[CurvePoint, ...] = ()

    def __repr__(self) -> str:
        """A line: what it completed of what came in, and at which latency."""
        late = "no latency" if self.latency is None else f"{self.latency:,.0f} ms"
        return f"<Summary of {self.scheduler}: {self.throughput:,.0f} of {self.offered:,.0f} tuples/s, {late}>"


def without(found: Sequence[Summary]) -> str:
    """Words that say what was left out, beginning with a comma; "" if nothing was."""
    seconds = max(summary.warm_up for summary in found)
    return f", after a warm-up of {seconds:,.0f} s" if seconds else ""


def summarise(
    world: World, scheduler: str, outcomes: Mapping[str, int], labels: Mapping[str, int] = FrozenMap()
) -> Summary:
    """Sum up a simulation so far.

    Args:
        world: The simulation.
        scheduler: Name of the scheduler.
        outcomes: Number of rounds of the control loop by outcome.
        labels: Number of plans by label.
    """
    spans = [span for span in world.spans if span.begin >= 0]
    length = world.now or 1.0
    late, done = _late(spans)
    half, most, nearly_all = percentiles(spans)
    nodes = sum(span.length * _nodes(span) for span in spans) / length
    offered = sum(span.length * float(span.offered.sum()) for span in spans) / length
    return Summary(
        scheduler=scheduler,
        duration=world.now,
        warm_up=-world.spans[0].begin if world.spans else 0.0,
        start=_start(world.spans),
        offered=offered,
        throughput=done / length,
        completed=done / length / offered if offered else None,
        latency=late / done if done else None,
        latency_p50=half,
        latency_p95=most,
        latency_p99=nearly_all,
        inter_node=_share(spans),
        nodes=nodes,
        moves=world.moved,
        placed=world.placed,
        stopped=_seconds(spans, 0.0),
        degraded=_seconds(spans, DEGRADED),
        backlog=float(spans[-1].backlog.sum()) if spans else 0.0,
        rounds=FrozenMap(dict(sorted(outcomes.items()))),
        status=_status(labels),
        topologies=tuple(_topology(world, number, spans, length) for number in range(len(world.layout.topologies))),
        curve=tuple(curve(spans, POINTS)),
    )


def _start(spans: Sequence[SteadySpan]) -> float | None:
    """Seconds from the first span to the first in which all tasks run and complete what comes in."""
    begin = next((span.begin for span in spans if span.steady.there.all() and _keeps_up(span)), None)
    return None if begin is None else begin - spans[0].begin


def _keeps_up(span: SteadySpan) -> bool:
    return bool((span.throughput >= (1 - ROUNDING) * span.offered).all())


def _status(labels: Mapping[str, int]) -> str:
    odd = sorted(set(labels) - {Status.OK}, key=lambda label: (-labels[label], label))
    return "; ".join(odd) or (str(Status.OK) if labels else "")


def curve(spans: Sequence[SteadySpan], points: int) -> list[CurvePoint]:
    """Means over stretches of equal length, longer where nothing happened.

    Args:
        spans: One after the other.
        points: Number of stretches, about: a span is never divided.
    """
    if not spans:
        return []
    step, found, part, due = spans[-1].end / points, [], [], spans[-1].end / points
    for span in spans:
        part.append(span)
        if span.end >= due - 1e-9:
            found.append(_point(part))
            part, due = [], max(due + step, span.end)
    return [*found, _point(part)] if part else found


def _point(spans: Sequence[SteadySpan]) -> CurvePoint:
    length = sum(span.length for span in spans)
    late, done = _late(spans)
    return CurvePoint(
        time=spans[-1].end,
        offered=sum(span.length * float(span.offered.sum()) for span in spans) / length,
        throughput=done / length,
        latency=late / done if done else None,
        inter_node=_share(spans),
        backlog=float(spans[-1].backlog.sum()),
        nodes=_nodes(spans[-1]),
    )


def _late(spans: Sequence[SteadySpan]) -> tuple[float, float]:
    """Milliseconds that all tuples took together, and the number of tuples."""
    late = sum(span.length * float(span.throughput @ span.latency) for span in spans)
    return late, sum(span.length * float(span.throughput.sum()) for span in spans)


def percentiles(spans: Sequence[SteadySpan]) -> tuple[float | None, ...]:
    """Latencies that `PERCENTS` of the tuples of spans do not exceed, in milliseconds; None without tuples.

    Args:
        spans: In any order.
    """
    found = [
        np.stack([span.steady.latency, span.steady.spread, *span.waits, span.most, span.length * span.throughput])
        for span in spans
    ]
    rows = np.hstack(found).T if found else np.zeros((0, 6))
    rows = rows[rows[:, -1] > 0]
    if not len(rows):
        return tuple(None for _ in PERCENTS)
    kinds, kind = np.unique(rows[:, :-1], axis=0, return_inverse=True)  # states come back
    tuples = np.bincount(kind.ravel(), rows[:, -1])[:, None]
    mean, variance, begin, end, most = kinds.T[:, :, None]
    wait = begin + (end - begin) * (np.arange(len(LEVELS)) * GOLDEN % 1.0)
    late = np.minimum(distribution(mean[:, 0], variance[:, 0]) + wait, most)
    order = late.ravel().argsort()
    share = np.broadcast_to(tuples, late.shape).ravel()[order]
    level = (share.cumsum() - share / 2) / share.sum()
    return tuple(np.interp(PERCENTS, level, late.ravel()[order]).tolist())


def _share(spans: Sequence[SteadySpan]) -> float:
    """Part of the tuples between tasks that crossed nodes."""
    total = across = 0.0
    for span in spans:
        for factor, share in zip(span.steady.factor.tolist(), span.steady.shares, strict=True):
            total += span.length * factor * share.traffic
            across += span.length * factor * share.inter_node
    return across / total if total else 0.0


def _nodes(span: SteadySpan) -> int:
    return int(np.unique(span.steady.node_of[span.steady.there]).size)


def _seconds(spans: Sequence[SteadySpan], part: float) -> float:
    """Seconds in which some topology completes no more than a part of what it is offered."""
    return sum(span.length for span in spans if ((span.offered > 0) & (span.throughput <= part * span.offered)).any())


def _topology(world: World, number: int, spans: Sequence[SteadySpan], length: float) -> TopologyFigures:
    done = sum(span.length * float(span.throughput[number]) for span in spans)
    late = sum(span.length * float(span.throughput[number] * span.latency[number]) for span in spans)

    def under(part: float) -> float:
        return sum(span.length for span in spans if span.offered[number] > 0 and _low(span, number, part))

    return TopologyFigures(
        topology=world.layout.topologies[number].id,
        offered=sum(span.length * float(span.offered[number]) for span in spans) / length,
        throughput=done / length,
        latency=late / done if done else None,
        stopped=under(0.0),
        degraded=under(DEGRADED),
        backlog=float(spans[-1].backlog[number]) if spans else 0.0,
    )


def _low(span: SteadySpan, number: int, part: float) -> bool:
    return bool(span.throughput[number] <= part * span.offered[number])

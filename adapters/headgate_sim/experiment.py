"""One simulated experiment: a request, a scheduler, a trace, and what became of it.

    from headgate_sim.experiment import run
    summary = run(request, "dstorm", seed=1, duration=600.0)
    summary.throughput, summary.inter_node, summary.moves

The control loop is the real one; only the engine and its time are simulated. The same arguments give the same summary,
in any process. A scheduler's deadline is the one thing that real time can touch: it is a minute.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from headgate.errors import OptionError
from headgate.hooks import Description, hookimpl
from headgate.host import PluginHost
from headgate.loop import Control, Loop
from headgate.model import FrozenMap, Limits, Plan, Request
from headgate_sim.plugin import sim
from headgate_sim.target import SimTarget
from headgate_sim.world import World

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from headgate.loop import Round
    from headgate.model import Observation
    from headgate_sim.timing import Timing
    from headgate_sim.trace import Trace
    from headgate_sim.world import Span

DEGRADED = 0.4
"""A topology that completes less than this part of its nominal load is degraded (by 60 %, paper 001, section 5.2)."""
PATIENCE = Limits(deadline=60.0)
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


class Called:
    """A function as a scheduler."""

    def __init__(self, function: Callable[[Request], Plan]) -> None:
        """Take the function."""
        self._function = function

    @hookimpl
    def headgate_describe(self) -> Description:
        """Say what it is."""
        return Description(summary="A function that plans.")

    @hookimpl
    def headgate_schedule(self, request: Request) -> Plan:
        """Call it."""
        return self._function(request)


def run(
    request: Request,
    scheduler: str | Callable[[Request], Plan],
    seed: int = 0,
    duration: float = 600.0,
    *,
    trace: Trace | None = None,
    timing: Timing | None = None,
    options: Mapping[str, Any] | None = None,
    window: float = 10.0,
    interval: float = 20.0,
    limits: Limits = PATIENCE,
    host: PluginHost | None = None,
    keep: Callable[[Observation, float], None] | None = None,
    on_round: Callable[[Round, float], None] | None = None,
) -> Summary:
    """Run the control loop on a simulated engine.

    Args:
        request: What is simulated; what it says runs is running at time 0, else the first round places it.
        scheduler: Name of an installed scheduler, or a function from a request to a plan.
        seed: Of the moments at which supervisors and workers look, and of the scheduler.
        duration: Simulated seconds.
        trace: What happens when.
        timing: How long things take.
        options: Of the scheduler, by name.
        window: Simulated seconds that each look takes.
        interval: Simulated seconds between two rounds.
        limits: Of the scheduler, in each round.
        host: The plugins to use; the installed ones by default.
        keep: Is given every observation and the simulated time at its end; `headgate_sim.keeper.Keeper.keep` serves.
        on_round: Is told every round and the simulated time at its end.

    Raises:
        DocumentError: The request contradicts itself, or the trace is about something else.
        PluginError: There is no such scheduler.
        OptionError: An option does not fit, or the window takes no time.
    """
    if window <= 0 or duration <= 0 or interval < 0:
        raise OptionError(
            f"window {window:g} and duration {duration:g} have to be over 0, interval {interval:g} not under"
        )
    host, name = _host(host, scheduler)
    host.options(name, options)
    target = SimTarget(world=World(request, timing=timing, trace=trace, seed=seed))
    control = Control(
        scheduler=name, engine="sim", options=FrozenMap(options or {}), limits=limits, window=window, seed=seed
    )
    kept = None if keep is None else lambda seen: keep(seen, target.now)
    loop = Loop(host, control, target, keep=kept, clock=target.clock)
    outcomes: Counter[str] = Counter()
    while target.now < duration:
        done = loop.round()
        outcomes[done.outcome] += 1
        if on_round is not None:
            on_round(done, target.now)
        target.wait(max(min(interval, duration - target.now), 0.0))
    return summarise(target.world, name, outcomes)


def _host(host: PluginHost | None, scheduler: str | Callable[[Request], Plan]) -> tuple[PluginHost, str]:
    if host is None:
        host = PluginHost.load([scheduler]) if isinstance(scheduler, str) else PluginHost()
    if "sim" not in host.plugins:
        host = host.with_plugin("sim", sim)
    if isinstance(scheduler, str):
        return host, scheduler
    name = getattr(scheduler, "__name__", "function").strip("<>")
    name = name if name not in host.plugins else f"{name}-function"
    return host.with_plugin(name, Called(scheduler)), name


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

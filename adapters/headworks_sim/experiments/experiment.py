"""One simulated experiment: a request, a scheduler, a trace, and the summary of the run.

    from headworks_sim.experiments.experiment import run
    summary = run(request, "dstorm", seed=1, duration=600.0)
    summary.throughput, summary.inter_node, summary.moves

The control loop is the real one; only the engine and its time are simulated. The same arguments give the same summary,
in any process. A scheduler's deadline is the one thing that real time can touch: it is a minute.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

import attrs

from headworks import PluginHost
from headworks.control.guards import Guards
from headworks.control.loop import Control, Loop
from headworks.errors import OptionError
from headworks.hooks import Description, hookimpl
from headworks.model import FrozenMap, Limits, Plan, Request
from headworks_sim.experiments.summary import summarise
from headworks_sim.fluid.timing import Span
from headworks_sim.fluid.world import World
from headworks_sim.plugin import Sim
from headworks_sim.target import SimTarget

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from headworks.control.journal import Round
    from headworks.model import Observation
    from headworks_sim.experiments.summary import Summary
    from headworks_sim.fluid.timing import Timing
    from headworks_sim.fluid.trace import Trace

PATIENCE = Limits(deadline=60.0)
"""Limits of the scheduler. With a shorter deadline a busy machine may change the result, which nothing else can."""


WARM_UP = 60.0
"""Seconds in which topologies of which nothing runs are placed, start, and take what came meanwhile. With fewer,
figures show the start of a cluster; with more, each experiment takes longer."""


class FunctionScheduler:
    """A function from a request to a plan, as a scheduler plugin."""

    def __init__(self, function: Callable[[Request], Plan]) -> None:
        """Take the function."""
        self._function = function

    @hookimpl
    def headworks_describe(self) -> Description:
        """Describe the scheduler."""
        return Description(summary="A function that plans.")

    @hookimpl
    def headworks_schedule(self, request: Request) -> Plan:
        """Plan with the function."""
        return self._function(request)


def run(
    request: Request,
    scheduler: str | Callable[[Request], Plan],
    seed: int = 0,
    duration: float = 600.0,
    *,
    warm_up: float | None = None,
    trace: Trace | None = None,
    timing: Timing | None = None,
    options: Mapping[str, Any] | None = None,
    window: float = 10.0,
    interval: float = 20.0,
    limits: Limits = PATIENCE,
    knowledge: Path | None = None,
    host: PluginHost | None = None,
    keep: Callable[[Observation, float], None] | None = None,
    on_round: Callable[[Round, float], None] | None = None,
) -> Summary:
    """Run the control loop on a simulated engine.

    Args:
        request: Cluster and topologies; its assignment runs already, without one the first round places all tasks.
        scheduler: Name of an installed scheduler, or a function from a request to a plan.
        seed: Seed of the moments at which supervisors and workers look, and of the scheduler.
        duration: Simulated seconds, from time 0 on.
        warm_up: Seconds before time 0 that count for nothing, and what waits at their end is forgotten; `WARM_UP` by
            default, 0 if the request has an assignment.
        trace: Events such as loads and failures, at their times after the warm-up; none by default.
        timing: Cycles, delays and the style of moving.
        options: Options of the scheduler by name.
        window: Simulated seconds that each look takes.
        interval: Simulated seconds between two rounds.
        limits: Limits of the scheduler in each round.
        knowledge: File or folder of profiles and demands, beside those of the request.
        host: The plugins to use; the installed ones by default.
        keep: Called with every observation after the warm-up, and the simulated time at its end, such as
            `headworks_sim.keeper.ObservationWriter.keep`.
        on_round: Called with every round and the simulated time at its end, which is under 0 in the warm-up.

    Returns:
        Figures from time 0 on, of each topology, and over time.

    Raises:
        DocumentError: The request contradicts itself, the trace is about something else, or knowledge is not there.
        PluginError: There is no such scheduler.
        OptionError: An option does not fit, or the window takes no time.
    """
    warm_up = (0.0 if request.assignment else WARM_UP) if warm_up is None else warm_up
    _check(window, duration, interval, warm_up)
    host, name = _host(host, scheduler)
    host.options(name, options)
    target = SimTarget(world=World(request, timing=timing, trace=trace, seed=seed, warm_up=warm_up))
    control = Control(scheduler=name, engine="sim", options=FrozenMap(options or {}), limits=limits, window=window)
    # No cool-down: the printed experiments act in every round, and pay for it in simulated time.
    control = attrs.evolve(control, seed=seed, knowledge=knowledge, predict=False, guards=Guards(cooldown=0.0))
    kept = None if keep is None else lambda seen: keep(seen, target.now) if target.now >= window else None
    loop = Loop(host, control, target, keep=kept, clock=target.clock)
    outcomes, labels = _rounds(loop, target, Span(duration=duration, window=window, interval=interval), on_round)
    return summarise(target.world, name, outcomes, labels)


def _check(window: float, duration: float, interval: float, warm_up: float) -> None:
    if not all(0 < each < math.inf for each in (window, duration)):
        raise OptionError(f"window {window:g} and duration {duration:g} have to be finite and over 0")
    if not all(0 <= each < math.inf for each in (interval, warm_up)):
        raise OptionError(f"interval {interval:g} and warm-up {warm_up:g} have to be finite and not under 0")


def _rounds(
    loop: Loop, target: SimTarget, span: Span, on_round: Callable[[Round, float], None] | None
) -> tuple[Counter[str], Counter[str]]:
    """Run rounds until the simulated time is over; how many rounds had each outcome, and how many plans each label."""
    outcomes: Counter[str] = Counter()
    labels: Counter[str] = Counter()
    while target.now < span.duration:
        done = loop.round()
        outcomes[done.outcome] += 1
        if done.plan is not None:
            labels[done.plan.label] += 1
        if on_round is not None:
            on_round(done, target.now)
        target.wait(_pause(target.now, span))
    return outcomes, labels


def _pause(now: float, span: Span) -> float:
    """Seconds to the next round, which looks at a part of the warm-up or at nothing of it."""
    if now < 0 < now + span.interval + span.window:
        return -now
    # A round may end after the time is over: it takes its window, and the seconds in which tasks move.
    return max(min(span.interval, span.duration - now), 0.0)


def _host(host: PluginHost | None, scheduler: str | Callable[[Request], Plan]) -> tuple[PluginHost, str]:
    if host is None:
        # Only the named plugin: no other one of this machine can object to a plan, and change the result.
        host = PluginHost.load([scheduler]) if isinstance(scheduler, str) else PluginHost()
    if "sim" not in host:
        host = host.with_plugin("sim", Sim())
    if isinstance(scheduler, str):
        return host, scheduler
    name = getattr(scheduler, "__name__", "function").strip("<>")
    name = name if name not in host else f"{name}-function"
    return host.with_plugin(name, FunctionScheduler(scheduler)), name

"""The price of moves: seconds for which they stop tasks, against the gain over the time that tasks stay."""

from __future__ import annotations

import math
from statistics import median
from typing import TYPE_CHECKING

import attrs

from headworks.control.forecast import FEW, Forecast, TaskStop, corrected, corrections, known_figures, noise
from headworks.control.guards import (
    LEAST_GAIN,
    PREDICTED,
    consolidates,
    gain,
    is_repair,
    judged_by_load,
    restarts_beside,
    running,
)
from headworks.control.moves_per import moving
from headworks.model import FrozenMap

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from headworks.control.guards import Guards
    from headworks.control.past import Past
    from headworks.control.simulated import LoadFigures
    from headworks.model import Plan, Receipt, Request, Scores

LIFE = 600.0
"""Seconds that tasks are expected to stay where they are moved, before rounds have shown it."""
RESTART = 14.0
"""Seconds from the end of a worker until its tasks run again, before any was measured: as `sim` has it."""
LIVE, MEGABYTE = 0.01, 0.017
"""Seconds of a live move, and for each MB of state, before any was measured: as on the cluster of the documents."""


def foresee(
    request: Request,
    plan: Plan,
    loads: tuple[LoadFigures | None, LoadFigures | None],
    past: Past,
    guards: Guards,
    *,
    engine: str,
    scheduler: str,
    now: float,
    part: float = 1.0,
    why: str = "",
) -> Forecast:
    """The forecast of a plan.

    Args:
        loads: What runs, and the plan, as they were simulated; None where they were not.
        past: Has the errors of earlier forecasts, measured stops, and how long tasks stayed.
        now: Of the loop's clock.
        part: Part of the moves of a larger plan that this one makes; as much of the noise is to be exceeded.
        why: Reason why nothing was simulated.
    """
    present, after = map(known_figures, loads)
    simulated = {"share": plan.scores.share, **after}
    errors = past.errors(now)
    factors = corrections(errors, engine, scheduler)
    figures = corrected(simulated, factors)
    scores = attrs.evolve(plan.scores, share=figures["share"])
    if guards.goal in PREDICTED:
        net = gain(running(request), scores, guards.goal)
    else:
        least = {"fullest_node": LEAST_GAIN, "completed": guards.worse}
        known = noise(errors, engine, scheduler)
        off = {name: max(part * known.get(name, 0.0), least.get(name, 0.0)) for name in {*least, *known}}
        net = net_gain(running(request), scores, _more(present, after, guards), off, request.limits.fill)
    return Forecast(
        figures=FrozenMap(figures),
        simulated=FrozenMap(simulated),
        present=FrozenMap(present),
        gain=max(net, 0.0),
        loss=max(-net, 0.0),
        life=expected_life(past, now),
        stop=stop_of(request, plan, past.stops, engine),
        hold=past.hold(now) if _loses(present, after, factors.get("completed", 1.0), guards) else 0.0,
        why=why,
    )


def net_gain(before: Scores, after: Scores, more: float, noise: Mapping[str, float], fill: float | None) -> float:
    """Gain of a plan that makes some figures better and others worse, below 0 for a loss.

    The load that is borne comes before traffic, as it does for schedulers; then come nodes, cost and the fullest node.
    The first of these that changes beyond the noise decides whether a plan gains, so that a plan and its way back never
    both gain. The gain is that of the figure that gains most.

    Args:
        more: Relative gain in the load that is completed.
        noise: Change of a figure that may be an error of its forecast.
        fill: Part of each node's CPU to plan for.
    """
    changes = {
        "fullest_node": headroom(after, fill) - headroom(before, fill),
        "completed": more,
        "share": before.share - after.share,
        "nodes": _saved(before.nodes_used, after.nodes_used),
        "cost": _saved(before.cost, after.cost),
        "fullest": max(_saved(before.fullest_node, after.fullest_node), 0.0),  # within the headroom it does no harm
    }
    noticed = next((each for name, each in changes.items() if abs(each) > noise.get(name, 0.0)), 0.0)
    return max(changes.values()) if noticed > 0 else noticed


def _more(present: Mapping[str, float], after: Mapping[str, float], guards: Guards) -> float:
    """Relative gain in the load that is completed, 0 where it is not known or nobody asks for it; losses hold plans."""
    now, then = present.get("completed"), after.get("completed")
    return max(then / now - 1, 0.0) if now and then and guards.goal in ("load", "throughput") else 0.0


def headroom(scores: Scores, fill: float | None) -> float:
    """Part of the headroom that is asked for which nodes keep under the load: 1 is all of it."""
    return 1.0 if scores.factor is None else min(scores.factor * (fill or 1.0), 1.0)


def _saved(before: float | None, after: float | None) -> float:
    """A saving as a part of the larger figure, so that the way back loses as much."""
    return (before - after) / max(before, after) if before and after else 0.0


def _loses(present: Mapping[str, float], after: Mapping[str, float], factor: float, guards: Guards) -> bool:
    """Check whether so much less of the load would be completed that the plan would be undone.

    Args:
        factor: Correction of such forecasts by what plans completed; where that was more, it speaks for the plan.
    """
    now, then = present.get("completed"), after.get("completed")
    if guards.goal not in ("load", "throughput") or now is None or then is None:
        return False
    return min(then * max(factor, 1.0), 1.0) < now * (1 - guards.worse)


def expected_life(past: Past, now: float) -> float:
    """Seconds that tasks stay where they are moved: the median of those that were moved again.

    Or as long as all have stayed by now: a plan that waits for its price would else wait for ever.
    """
    known = max(median(past.lives), 1.0) if len(past.lives) >= FEW else past.life or LIFE
    return max(known, now - past.still) if past.still is not None else known


def stop_of(request: Request, plan: Plan, stops: Iterable[TaskStop], engine: str) -> float:
    """Seconds that the moves of a plan stop tasks for, in the mean of all that run."""
    live = {each.id for each in request.topologies if each.live}
    batches = {each.id for each in request.topologies if each.sequential}
    states = {each.task: each.state for each in request.metrics.tasks}
    known = [each for each in stops if each.engine == engine]
    moved = [(task, task.partition("/")[0]) for task in moving(request, plan)]
    pauses = sum(_stop(known, "live", states.get(task)) for task, topology in moved if topology in live)
    apart = not request.cluster.shared_slots  # else a move is no restart
    restarted = sum(apart and topology not in live | batches for _, topology in moved) + restarts_beside(request, plan)
    waiting = {topology for _, topology in moved} & batches - live
    longer = (plan.scores.state_seconds or 0.0) * sum(
        len(each.tasks()) for each in request.topologies if each.id in waiting
    )
    whole = pauses + restarted * _stop(known, "restart", None) + longer
    return whole / len(request.assignment) if request.assignment else 0.0


def _stop(known: list[TaskStop], kind: str, state: float | None) -> float:
    """Seconds that a move takes, by those that were measured: of such a state, else of any, else by a guess."""
    alike = [each for each in known if each.kind == kind]
    same = [each.seconds for each in alike if each.state == rounded(state)] or [each.seconds for each in alike]
    return median(same) if same else RESTART if kind == "restart" else LIVE + MEGABYTE * (state or 0.0)


def rounded(megabytes: float | None) -> float | None:
    """A size of state as a power of two, 1 at least."""
    return None if megabytes is None else 2.0 ** max(round(math.log2(max(megabytes, 1.0))), 0)


def measured_stops(engine: str, request: Request, plan: Plan, receipt: Receipt, took: float) -> tuple[TaskStop, ...]:
    """Stops of the moves of a plan that was carried out: as the engine measured them, else of restarts until all ran.

    Args:
        took: Seconds from the order until the executor saw the tasks run.
    """
    live = {each.id for each in request.topologies if each.live}
    others = {each.id for each in request.topologies if not each.sequential} - live
    states = {each.task: each.state for each in request.metrics.tasks}
    found: dict[tuple[str, float | None], list[float]] = {}
    for step in receipt.steps:
        if step.stopped is not None:
            kind = "live" if step.subject.partition("/")[0] in live else "restart"
            found.setdefault((kind, rounded(states.get(step.subject))), []).append(step.stopped)
    restarts = not request.cluster.shared_slots and any(
        task.partition("/")[0] in others for task in moving(request, plan)
    )
    if receipt.done and took > 0 and restarts and all(kind != "restart" for kind, _ in found):
        found["restart", None] = [took]
    return tuple(
        TaskStop(engine=engine, kind=kind, seconds=median(every), state=state) for (kind, state), every in found.items()
    )


def price_reason(request: Request, plan: Plan, guards: Guards, forecast: Forecast, *, traffic_aware: bool) -> str:
    """Reason not to carry a plan out as it is expected to cost more than it brings, "" to do so.

    Repairs have no price, and none is asked if the least gain is set to 0. As for the least gain, a scheduler without
    the promise to lessen traffic, and consolidation, need not pay; a loss that would be undone is refused of all.
    """
    if (guards.gain is not None and guards.gain <= 0) or is_repair(request, plan):
        return ""
    wait = f"{len(plan.moves)} moves wait"
    if forecast.hold and judged_by_load(request, plan):
        then, now = (each["completed"] for each in (forecast.simulated, forecast.present))
        return (
            f"{then:.1%} of the load would be completed, and {now:.1%} are now, as the engine is simulated; {wait}, "
            f"for {forecast.hold:.0f} s at most: then such a plan is tried, and undone if it does harm"
        )
    if guards.gain is None and (not traffic_aware or consolidates(running(request), plan.scores, guards.goal)):
        return ""
    if not forecast.gain:
        more = f"a loss of {forecast.loss:.1%} in a figure that counts more than those that gain"
        return f"{more if forecast.loss else 'no gain beyond the errors of forecasts'} is expected; {wait}"
    if forecast.gain * forecast.life >= forecast.stop:
        return ""
    return (
        f"a gain of {forecast.gain:.1%} over {forecast.life:.0f} s does not pay for {forecast.stop:.1f} s "
        f"that tasks would stop in the mean; {wait}"
    )

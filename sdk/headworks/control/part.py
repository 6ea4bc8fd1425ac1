"""The part of a plan that brings what the whole does, with fewer moves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headworks.control.cut import Cut, first
from headworks.control.guards import LEAST_GAIN, PREDICTED
from headworks.control.moves_per import moving
from headworks.control.price import headroom
from headworks.control.recheck import Rechecked, without
from headworks.model import Status
from headworks.model.scaling import rescaled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headworks.control.guards import Guards
    from headworks.model import Plan, Request, Scores

USELESS = "its move would bring nothing"
"""Reason of a task whose move the others do not need."""
LARGEST = 2000
"""Moves of a plan of which parts are looked for in a round: these take a second."""
WEIGHTS = (1.0, 1e3)
"""Shares of all traffic that are as bad as a node that is full twice: a search with each finds other parts."""
LITTLE = 1e-6
"""Part of a node's capacity that is none."""


def needed(request: Request, plan: Plan, guards: Guards, *, traffic_aware: bool) -> Rechecked:
    """The part of a plan that is needed for its gain.

    A move is needed if it saves more than the noise in the traffic of a task, or if nodes keep their headroom by it. No
    other score of the part may be worse than that of the whole. Plans pass whole where traffic was not measured, is not
    what the scheduler or the goal are about, or no gain is asked.
    """
    whole, moved = Rechecked(plan=plan), moving(request, plan)
    if not traffic_aware or not 0 < len(moved) <= LARGEST or not _is_about_traffic(request, plan, guards):
        return whole
    _, held = min((_needless(request, plan, moved, weight) for weight in WEIGHTS), key=lambda found: found[0])
    if not held or len(held) == len(moved):  # a plan that brings nothing at all waits for its gain
        return whole
    left = without(plan, request, dict.fromkeys(sorted(held), USELESS))
    return left if _is_as_good(left.plan, plan, request.limits.fill) else whole


def _needless(request: Request, plan: Plan, moved: Sequence[str], weight: float) -> tuple[float, list[str]]:
    """The tasks without whose moves a plan is worth most, and what it would be worth more by their moves, below 0.

    All moves are taken out one by one: of two tasks that only swap places, each is missed without the other.
    """
    cut, order = Cut(request, plan, moved), list[str]()
    price, best = cut.total * LEAST_GAIN / len(request.assignment), (0.0, 0)
    while (move := first(cut.left, cut.crowds() * weight * cut.total + cut.costs())) is not None:
        cut.take_out(move)
        order.append(moved[move])
        if cut.crowded < LITTLE:
            best = min(best, (cut.cost - price * len(order), len(order)))
    return best[0], order[: best[1]]


def _is_about_traffic(request: Request, plan: Plan, guards: Guards) -> bool:
    metrics, asked = request.metrics, guards.gain is None or guards.gain > 0
    measured = plan.measured and bool(metrics.flows or metrics.streams)
    if not (asked and measured and plan.status is Status.OK) or plan.starves:
        return False
    others = guards.goal in PREDICTED and guards.goal != "traffic"
    return not others and rescaled(request, plan).topologies == request.topologies


def _is_as_good(part: Plan, whole: Plan, fill: float | None) -> bool:
    """Check that no score of a part of a plan is worse than the whole's, within the noise."""
    less = (_worst(each.scores, fill) for each in (part, whole))
    return part.status is Status.OK and all(a <= b + LEAST_GAIN for a, b in zip(*less, strict=True))


def _worst(scores: Scores, fill: float | None) -> tuple[float, ...]:
    """Scores of which less is better."""
    known = (scores.cost, scores.batch_seconds, -(scores.throughput or 0.0))
    counts = (scores.unplaced, scores.nodes_used, scores.penalty)
    return (scores.share, -headroom(scores, fill), *counts, *(each or 0.0 for each in known))

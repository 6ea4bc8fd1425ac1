"""Fronts: the plans for one request of which no other one is better in some figure and as good in every one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headworks.model import Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headworks.model import Plan, Scores

Figures = tuple[float, ...]


def front(plans: Sequence[Plan]) -> list[int]:
    """Indices of the whole plans that no other one beats, by their figures; of those with equal figures the first."""
    found: dict[Figures, int] = {}
    for number, figures in enumerate(figures_of(plans)):
        if plans[number].status is Status.OK:
            found.setdefault(figures, number)
    return [found[mine] for mine in sorted(found) if not any(_beats(other, mine) for other in found)]


def figures_of(plans: Sequence[Plan]) -> list[Figures]:
    """Figures of each plan, as exact as tables show them; the less the better.

    They are the price of its nodes, the share of traffic between nodes, the load that it bears, running tasks that
    move, seconds of a batch, and the penalty of soft constraints. Nodes count alike unless all plans have a price. The
    load is the throughput if all plans have one, else `Scores.factor`.
    """
    every = [plan.scores for plan in plans if plan.status is Status.OK]
    priced = all(scores.cost is not None for scores in every)
    profiled = all(scores.throughput is not None for scores in every)
    return [_figures(plan.scores, priced=priced, profiled=profiled) for plan in plans]


def _figures(scores: Scores, *, priced: bool, profiled: bool) -> Figures:
    price = scores.cost if priced else scores.nodes_used
    load = float(f"{scores.throughput or 0.0:.3g}") if profiled else round(scores.factor or 0.0, 2)
    batch = round(scores.batch_seconds or 0.0, 3)
    return round(price or 0.0, 6), round(scores.share, 3), -load, scores.moves, batch, round(scores.penalty, 6)


def _beats(one: Figures, other: Figures) -> bool:
    return one != other and all(mine <= theirs for mine, theirs in zip(one, other, strict=True))

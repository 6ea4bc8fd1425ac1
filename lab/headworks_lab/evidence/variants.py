"""Improved variants beside the published schedulers that they come from, and beside the optimum."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import attrs

from headworks.api import limited
from headworks.errors import PluginError
from headworks.interrupts import is_signal
from headworks.model import Plan, Status
from headworks.plugins.guard import failure, keep_traceback
from headworks.report.format import percent, quantity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from headworks.model import Request
    from headworks.plugins.host import PluginHost
    from headworks_lab.evidence.model import Improvement

Proof = Literal["proved", "bound", "no bound", "differs"]
PROOFS: tuple[Proof, ...] = get_args(Proof)
DEADLINE = 60.0
"""Seconds that each scheduler has to plan a request."""
COLUMNS = ("paper", "ours", "optimum", "paper off", "ours off")
"""Headings of what `cells` gives."""
SAME = 1e-9
"""Relative distance at which two figures are one."""


@attrs.frozen(kw_only=True)
class Improved:
    """Result of comparing an improved variant.

    `status` is `proved` where some plan is proved to be the optimum, `bound` where only a bound is known that no plan
    passes, `no bound` where none could be had, and `differs` where the variant is worse than the published scheduler,
    has no plan, or a plan passes the bound; the note says why.

    Attributes:
        plugin: Who names it.
        variant: The improved scheduler, with the options that make it one.
        published: The scheduler that it comes from, with the options that make it as published.
        paper: What the published scheduler reaches, None where it has no plan that compares.
        ours: What the variant reaches.
        optimum: The best figure of all plans, where it is proved to be the optimum.
        bound: What no plan passes.
        more: Whether more is better.
    """

    plugin: str
    id: str
    variant: str
    published: str
    statement: str
    paper: float | None = None
    ours: float | None = None
    optimum: float | None = None
    bound: float | None = None
    more: bool = False
    status: Proof
    note: str = ""

    def gap(self, figure: float | None) -> float | None:
        """Relative gap of a figure to the optimum, else to the bound; None where there is neither."""
        best = self.bound if self.optimum is None else self.optimum
        if figure is None or not best:
            return None
        return max((best - figure if self.more else figure - best) / best, 0.0)


@attrs.frozen(kw_only=True)
class _Reached:
    """A figure, the plan that has it, and why there is none."""

    figure: float | None = None
    plan: Plan | None = None
    why: str = ""


def improve(asked: Improvement, plugin: str, host: PluginHost) -> Improved:
    """Plan one request with the published scheduler, the variant and the exact one; what breaks is in the note.

    Args:
        asked: The improvement.
        plugin: Name of the plugin that names it.
        host: The installed plugins.
    """
    blank = Improved(
        plugin=plugin,
        id=asked.id,
        variant=_with_options(plugin, asked.options),
        published=_with_options(asked.published, asked.printed),
        statement=asked.statement,
        more=asked.more,
        status="differs",
        note=asked.note,
    )
    try:
        return _filled(blank, asked, host)
    except (Exception, SystemExit, KeyboardInterrupt) as error:
        if is_signal(error):
            raise
        keep_traceback(plugin, asked.id, error)
        return attrs.evolve(blank, note=f"could not be computed: {failure(error, Path(__file__).parent)}")


def _with_options(scheduler: str, options: Mapping[str, Any]) -> str:
    return " ".join((scheduler, *(f"{name}={value}" for name, value in options.items())))


def _filled(blank: Improved, asked: Improvement, host: PluginHost) -> Improved:
    request = limited(asked.build(), deadline=DEADLINE)
    paper = _reach(host, asked.published, asked, request, asked.printed, asked.rounds)
    ours = _reach(host, blank.plugin, asked, request, asked.options, asked.rounds)
    exact = _reach(host, asked.exact, asked, request, asked.effort, 1) if asked.exact else _Reached()
    known = [each.figure for each in (paper, ours, exact) if each.figure is not None]
    best = (max if asked.more else min)(known, default=None)
    bound, proven = _bound(asked, request, exact, best)
    made = attrs.evolve(
        blank, paper=paper.figure, ours=ours.figure, bound=bound, optimum=best if proven else None, more=asked.more
    )
    faults = list(_faults(made, best))
    missing = [each.why for each in (paper, ours, exact) if each.figure is None and each.why]
    status: Proof = "differs" if faults else "no bound" if bound is None else "proved" if proven else "bound"
    return attrs.evolve(made, status=status, note="; ".join(each for each in (*faults, *missing, made.note) if each))


def _reach(
    host: PluginHost, name: str, asked: Improvement, request: Request, options: Mapping[str, Any], rounds: int
) -> _Reached:
    """Figure that a scheduler reaches in a number of rounds."""
    try:
        for _ in range(rounds):
            plan = host.schedule(name, request, options)
            if not plan.moves:
                break
            request = attrs.evolve(request, assignment=plan.assignment)
    except PluginError as error:
        return _Reached(why=str(error))
    if plan.status is Status.HELD:
        return _Reached(why=_reason(name, plan))
    figure = asked.figure(plan)
    return _Reached(figure=figure, plan=plan, why=_reason(name, plan) if figure is None else "")


def _reason(name: str, plan: Plan) -> str:
    message = plan.reasons[0].message if plan.reasons else "its plan has no such figure"
    return message if message.startswith(f"{name} ") else f"{name}: {message}"


def _bound(asked: Improvement, request: Request, exact: _Reached, best: float | None) -> tuple[float | None, bool]:
    """Bound on the figure of every plan, and whether a plan is proved to be the optimum."""
    told = exact.plan.bound if exact.plan is not None else None
    found = [
        each
        for each in (told.value if told else None, asked.bound(request) if asked.bound else None)
        if each is not None
    ]
    if not found:
        return None, False
    bound = (min if asked.more else max)(found)
    proven = told is not None and told.proven
    return bound, proven or (best is not None and abs(best - bound) <= SAME * abs(bound))


def _faults(made: Improved, best: float | None) -> Iterable[str]:
    if made.ours is None:
        yield f"{made.variant} has no such figure"
    elif made.paper is not None and _beats(made, made.paper, made.ours):
        yield f"{made.variant} is worse than {made.published}"
    if best is not None and made.bound is not None and _beats(made, best, made.bound):
        yield f"a plan passes the bound, {quantity(made.bound, 5)}"


def _beats(made: Improved, one: float, other: float) -> bool:
    """Check whether one figure is better than another by more than rounding."""
    return (one - other if made.more else other - one) > SAME * max(abs(one), abs(other))


def by_variant(improved: Iterable[Improved]) -> dict[str, list[Improved]]:
    """The rows of each table under its title, in order of appearance."""
    found: dict[str, list[Improved]] = {}
    for each in improved:
        found.setdefault(f"{each.variant}, an improved variant of {each.published}", []).append(each)
    return found


def cells(made: Improved) -> tuple[str, ...]:
    """The figures of a row as people read them; an optimum that is not proved is shown as its bound."""
    if made.optimum is not None:
        best = quantity(made.optimum, 5)
    else:
        sign = "<=" if made.more else ">="
        best = "" if made.bound is None else f"{sign} {quantity(made.bound, 5)}"
    gaps = (made.gap(made.paper), made.gap(made.ours))
    figures = ("" if each is None else quantity(each, 5) for each in (made.paper, made.ours))
    return (*figures, best, *("" if gap is None else percent(gap) for gap in gaps))


def tally(improved: Iterable[Improved]) -> str:
    """Number of rows of each status, as one line."""
    counts = Counter(each.status for each in improved)
    parts = [f"{counts[status]} {status}" for status in PROOFS if counts[status]]
    return f"{sum(counts.values())} improvements; optimum: {', '.join(parts)}"

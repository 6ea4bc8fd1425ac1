"""Totals of the rounds of a process, and the newest of them: what metrics show, and what other commands ask about."""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING

import attrs

from headworks.control.journal import Round
from headworks.model import FrozenMap, Plan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from headworks.model import Request

CARRIED = frozenset({"executed", "missed", "asserted", "answered"})
"""Outcomes of rounds whose plan was carried out."""
NO_ROUND = "no plan was asked for since this process started"


@attrs.frozen(kw_only=True)
class Totals:
    """The totals of some rounds.

    Attributes:
        rounds: Number of rounds by outcome.
        moves: Number of moves that were carried out, by kind.
        stops: Moves of which the engine measured how long the task stood. `stopped`: seconds of all of them.
        errors: Forecasts that were checked, and the sum of their relative errors, by figure.
        newest: The newest round whose request is known.
        planned: The newest round with a plan.
        carried: The newest plan that was carried out, None once it was undone.
    """

    rounds: FrozenMap[str, int] = FrozenMap()
    moves: FrozenMap[str, int] = FrozenMap()
    stops: int = 0
    stopped: float = 0.0
    errors: FrozenMap[str, tuple[int, float]] = FrozenMap()
    newest: Round | None = None
    planned: Round | None = None
    carried: Plan | None = None


def plus(totals: Totals, done: Round) -> Totals:
    """The totals with one more round."""
    carried = done.plan if done.outcome in CARRIED else None
    moves = [str(move.kind) for move in carried.moves if move.task not in done.dropped] if carried else ()
    stops = [each.stopped for each in done.receipt.steps if each.stopped is not None] if done.receipt else []
    return Totals(
        rounds=_counted(totals.rounds, [done.outcome]),
        moves=_counted(totals.moves, moves),
        stops=totals.stops + len(stops),
        stopped=totals.stopped + sum(stops),
        errors=_checked(totals.errors, done),
        newest=totals.newest if done.request is None else done,
        planned=totals.planned if done.plan is None else done,
        carried=carried or (None if done.outcome == "undone" else totals.carried),
    )


def _checked(before: FrozenMap[str, tuple[int, float]], done: Round) -> FrozenMap[str, tuple[int, float]]:
    found = dict(before)
    for each in done.checked:
        count, total = found.get(each.figure, (0, 0.0))
        found[each.figure] = (count + 1, total + each.error)
    return FrozenMap(dict(sorted(found.items())))


def _counted(before: FrozenMap[str, int], names: Iterable[str]) -> FrozenMap[str, int]:
    return FrozenMap(dict(sorted((Counter(before) + Counter(names)).items())))


class HeardRounds:
    """The totals of the rounds that this was told of, by any thread.

    Attributes:
        totals: Up to now.
        seen: Reads what runs and was measured, as a request; None where that is not known between two rounds.
    """

    def __init__(self) -> None:
        self.totals = Totals()
        self.seen: Callable[[], Request | None] = lambda: None
        self._lock = threading.Lock()

    def hear(self, done: Round) -> None:
        """Count a round."""
        with self._lock:
            self.totals = plus(self.totals, done)

    def newest(self) -> Round | None:
        """The newest round whose request is known; before it one of what runs, or None."""
        if self.totals.newest is not None:
            return self.totals.newest
        runs = self.seen()
        return None if runs is None else Round(number=0, outcome="quiet", message=NO_ROUND, request=runs)

    def measured(self) -> Request | None:
        """What runs and was measured, as it is known now; else as the newest round saw it, or None."""
        newest = self.totals.newest
        return self.seen() or (None if newest is None else newest.request)

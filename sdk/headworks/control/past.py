"""The past that rounds decide by: moves of the last 24 hours, measured stops, and errors of forecasts."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import attrs

from headworks.control.forecast import CheckedFigure, TaskStop
from headworks.control.journal import TIME
from headworks.control.moves_per import moving
from headworks.model import FrozenMap

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headworks.control.journal import Journal, Round

DAY, HOUR = 86_400.0, 3_600.0
"""Seconds of the past that count, for moves and for forecasts."""
KEPT = 400
"""Checked figures, stops and times that are kept: those of dozens of rounds."""


@attrs.frozen(kw_only=True)
class Past:
    """What is remembered of rounds, oldest first; times are seconds of the loop's clock.

    Attributes:
        moves: When running tasks moved, and how many.
        checked: When forecasts were held against what was measured, and both. A forecast that is wrong for good would
            stop all plans, and so never be corrected: after an hour it is forgotten.
        stops: For how long tasks stopped that moved.
        placed: When tasks were moved the last time, by id, of those that ran when others last moved.
        lives: Seconds for which tasks stayed that were moved again.
        life: The expectation of that by an earlier process, 0 if there is none.
        still: Since when no running task has moved, None before the first round.
        held: When plans were first held for a simulated loss, and last, None if they are not.
    """

    moves: tuple[tuple[float, int], ...] = ()
    checked: tuple[tuple[float, CheckedFigure], ...] = ()
    stops: tuple[TaskStop, ...] = ()
    placed: FrozenMap[str, float] = FrozenMap()
    lives: tuple[float, ...] = ()
    life: float = 0.0
    still: float | None = None
    held: tuple[float, float] | None = None

    def hold(self, now: float) -> float:
        """Seconds for which a plan is still held for a simulated loss: a simulation that is wrong ends no moves."""
        since, newest = self.held or (now, now)
        return max(HOUR - (now - since), 0.0) if now - newest < DAY else HOUR

    def errors(self, now: float) -> tuple[CheckedFigure, ...]:
        """Forecasts that were checked in the hour before `now`."""
        return tuple(each for when, each in self.checked if now - when < HOUR)

    def today(self, now: float) -> int:
        """Running tasks that moved in the 24 hours before `now`."""
        return sum(count for when, count in self.moves if now - when < DAY)


def later(past: Past, done: Round, *, now: float) -> Past:
    """The past after a round that ended at `now`."""
    moves = tuple(each for each in past.moves if now - each[0] < DAY)
    checked = tuple(each for each in past.checked if now - each[0] < HOUR)
    tasks = _moved(done)
    runs = done.request.assignment if tasks and done.request else past.placed
    kept = {task: when for task, when in past.placed.items() if task in runs}
    lives = [now - past.placed[task] for task in tasks if task in past.placed]
    return attrs.evolve(
        past,
        moves=(*moves, (now, done.moved)) if done.moved else moves,
        checked=(*checked, *((now, each) for each in done.checked))[-KEPT:],
        stops=(*past.stops, *done.stops)[-KEPT:],
        placed=FrozenMap({**kept, **dict.fromkeys(tasks, now)}) if tasks else past.placed,
        lives=(*past.lives, *lives)[-KEPT:],
        still=now if done.moved or past.still is None else past.still,
        held=_held(past, done, now),
    )


def _held(past: Past, done: Round, now: float) -> tuple[float, float] | None:
    """When plans were held for a simulated loss. Rounds without a forecast say nothing of that."""
    if done.forecast is None:
        return past.held
    if done.moved or not done.forecast.hold:
        return None
    return now - HOUR + done.forecast.hold, now


def _moved(done: Round) -> tuple[str, ...]:
    """Running tasks that a round moved."""
    if not done.moved or done.plan is None or done.request is None:
        return ()
    return tuple(task for task in moving(done.request, done.plan) if task not in done.dropped)


def past_of(journal: Journal, *, now: float) -> Past:
    """The past as a journal has it; a record that was damaged, or that another version wrote, may count for nothing.

    Args:
        now: Of the loop's clock.

    Raises:
        DocumentError: The journal cannot be read.
    """
    today = datetime.now(UTC)
    found, oldest = Past(), None
    for record in journal.recent((today - timedelta(seconds=DAY)).strftime(TIME)):
        with contextlib.suppress(AttributeError, KeyError, TypeError, ValueError):
            found = _earlier(found, record, oldest := now - _age(record["at"], today))
    return attrs.evolve(found, still=found.moves[-1][0] if found.moves else oldest)


def _earlier(past: Past, record: Mapping[str, Any], when: float) -> Past:
    """The past with a round before all that it has."""
    checked = tuple((when, CheckedFigure(**each)) for each in record.get("checked", ()))
    stops = tuple(TaskStop(**each) for each in record.get("stops", ()))
    moved, forecast = record.get("moved", 0), record.get("forecast") or {}
    hold, newest = forecast.get("hold", 0.0), past.held is None and not past.moves
    return attrs.evolve(
        past,
        moves=((when, moved), *past.moves) if moved else past.moves,
        checked=(*checked, *past.checked)[-KEPT:],
        stops=(*stops, *past.stops)[-KEPT:],
        life=past.life or forecast.get("life", 0.0),
        held=(when - HOUR + hold, when) if hold and newest and not moved else past.held,
    )


def _age(at: str, today: datetime) -> float:
    """Seconds since a record; none if the clock was ahead then: its moves would count until it is there again."""
    return max(0.0, (today - datetime.strptime(at, TIME).replace(tzinfo=UTC)).total_seconds())

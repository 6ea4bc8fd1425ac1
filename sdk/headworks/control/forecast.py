"""Forecasts of plans beside what was measured after them, and how their errors correct the next forecast."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

import attrs

from headworks.model import FrozenMap

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headworks.control.simulated import LoadFigures

NEWEST, FEW = 8, 3
"""Errors of a figure that correct its next forecast, and the least number of them."""
FARTHEST = 2.0
"""Factor by which a forecast is corrected at most, either way: more is no error of a model, but another load."""
PARTS = ("share", "completed")
"""Figures that are never above 1."""


@attrs.frozen(kw_only=True)
class Forecast:
    """The expectation of a plan before it is carried out.

    The figures are `share` (of the traffic, between nodes), `fullest_node` (used share of its CPU), `completed` (of the
    load that is offered) and `latency` in milliseconds, each where it is known.

    Attributes:
        figures: Of the plan, corrected by the errors of earlier forecasts.
        simulated: The same as they were simulated. `present`: of what ran then, simulated likewise.
        gain: The gain that is expected: of all traffic, of the completed load, or relative in another figure.
        loss: The loss in a figure that counts more than those that gain; then the gain is 0.
        life: Seconds that tasks are expected to stay where they are moved.
        stop: Seconds that moves stop tasks for, in the mean of all running tasks.
        hold: Seconds for which the plan is held at most, as less of the load would be completed; 0 if it is not.
        why: Reason why the engine was not simulated, "" if it was.
    """

    figures: FrozenMap[str, float] = FrozenMap()
    simulated: FrozenMap[str, float] = FrozenMap()
    present: FrozenMap[str, float] = FrozenMap()
    gain: float = 0.0
    loss: float = 0.0
    life: float = 0.0
    stop: float = 0.0
    hold: float = 0.0
    why: str = ""


@attrs.frozen(kw_only=True)
class CheckedFigure:
    """A figure as it was measured, beside the forecast of the plan that was carried out before.

    Attributes:
        round: The round of that plan. `engine` and `scheduler`: Where, and whose it is.
        simulated: The forecast without corrections. `predicted`: with them.
    """

    round: int
    engine: str
    scheduler: str
    figure: str
    simulated: float
    predicted: float
    measured: float

    @property
    def error(self) -> float:
        """Error of the forecast as a part of what was measured; 1 where that is 0, and the forecast is not."""
        off = abs(self.predicted - self.measured)
        return off / abs(self.measured) if self.measured else float(off > 0)

    def __str__(self) -> str:
        return f"{self.figure} {self.predicted:.3g} predicted in round {self.round}, {self.measured:.3g} measured"


@attrs.frozen(kw_only=True)
class TaskStop:
    """Seconds for which a task that moved did nothing: the median of a round.

    Attributes:
        kind: `live` if its worker went on, `restart` if not.
        state: MB of its state, rounded to a power of two; None if not known.
    """

    engine: str
    kind: str
    seconds: float
    state: float | None = None


def sentences(forecast: Forecast | None, checked: Iterable[CheckedFigure]) -> list[str]:
    """The forecast of a round, and what it measured of an earlier one, in words."""
    found = [f"measured beside the forecast: {each}" for each in checked]
    if forecast is not None and forecast.figures:
        figures = ", ".join(f"{name} {value:.3g}" for name, value in forecast.figures.items())
        change = f"a loss of {forecast.loss:.1%}" if forecast.loss else f"a gain of {forecast.gain:.1%}"
        pays = f"{change} over {forecast.life:.0f} s for {forecast.stop:.2g} s of stop"
        found.append(f"forecast: {figures}; {pays}")
    return found


def known_figures(load: LoadFigures | None) -> dict[str, float]:
    """The figures of a load that are known, by name."""
    if load is None:
        return {}
    completed = load.completed / load.offered if load.completed is not None and load.offered else None
    found = {
        "share": load.share,
        "fullest_node": load.fullest_node,
        "completed": completed,
        "latency": load.latency,
    }
    return {name: value for name, value in found.items() if value is not None}


def corrections(checked: Iterable[CheckedFigure], engine: str, scheduler: str) -> dict[str, float]:
    """Factor of the next forecast of each figure: the median of measured over simulated in the newest checks."""
    known = [each for each in _of(checked, engine, scheduler) if each.simulated > 0 and each.measured > 0]
    medians = _medians((each.figure, each.measured / each.simulated) for each in known)
    return {name: min(max(ratio, 1 / FARTHEST), FARTHEST) for name, ratio in medians.items()}


def noise(checked: Iterable[CheckedFigure], engine: str, scheduler: str) -> dict[str, float]:
    """How far forecasts of each figure were off, the median of the newest checks: a smaller change says nothing."""
    known = _of(checked, engine, scheduler)
    return _medians((each.figure, abs(each.predicted - each.measured)) for each in known)


def _of(checked: Iterable[CheckedFigure], engine: str, scheduler: str) -> list[CheckedFigure]:
    return [each for each in checked if (each.engine, each.scheduler) == (engine, scheduler)]


def _medians(pairs: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Median of the newest values of each name that has enough."""
    found: dict[str, list[float]] = {}
    for name, value in pairs:
        found.setdefault(name, []).append(value)
    return {name: median(every[-NEWEST:]) for name, every in found.items() if len(every) >= FEW}


def corrected(simulated: dict[str, float], factors: dict[str, float]) -> dict[str, float]:
    """Figures that were simulated, each by its factor."""
    found = {name: value * factors.get(name, 1.0) for name, value in simulated.items()}
    return {name: min(value, 1.0) if name in PARTS else value for name, value in found.items()}


def check(
    forecast: Forecast, measured: dict[str, float], *, number: int, engine: str, scheduler: str
) -> tuple[CheckedFigure, ...]:
    """The figures of the forecast of round `number` that were measured by now."""
    return tuple(
        CheckedFigure(
            round=number,
            engine=engine,
            scheduler=scheduler,
            figure=name,
            simulated=forecast.simulated[name],
            predicted=predicted,
            measured=measured[name],
        )
        for name, predicted in forecast.figures.items()
        if name in measured
    )

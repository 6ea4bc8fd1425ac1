"""The seconds of coming batches of a query, from those of earlier ones: a fixed part, a part for each row, warm-up."""

from __future__ import annotations

import itertools
from math import log
from operator import attrgetter
from statistics import median, quantiles
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headworks_spark.events.history import Job

WARM = 1.3
"""CPU of a batch over that of later ones, from which on earlier batches do not count: the JVM was cold."""
LEAST = 3
"""Batches that a forecast needs."""
MOST = 100
"""Batches that it looks at, evenly chosen: if more, it takes longer by their square."""
VARIED = 0.2
"""Share of the median rows by which rows of batches have to vary, so that seconds may depend on them."""
BETTER = 0.9
"""Part of the errors that has to be left once seconds depend on rows."""


@attrs.frozen
class Pace:
    """Seconds of a batch by its number, from 1 on, and its rows: (fixed + per_row * rows) * number ** fall.

    Attributes:
        fall: From -1 to 0. A JVM goes on to compile for thousands of tasks, ever more seldom.
    """

    fixed: float
    per_row: float
    fall: float

    def seconds(self, number: int, rows: int) -> float:
        """Seconds of one batch."""
        return (self.fixed + self.per_row * rows) * float(number**self.fall)

    def usual(self, batches: Sequence[Job], first: int, number: int) -> float:
        """Median seconds of batches that have the rows of some.

        Args:
            first: Index of the first of some, which go to the last.
            number: The number that the first of the batches has.
        """
        return median(self.seconds(number + each, taken(job)) for each, job in enumerate(batches[first:]))


def taken(job: Job) -> int:
    """Rows that a batch read from its sources."""
    return sum(task.taken for task in job.tasks)


def work(job: Job) -> float:
    """CPU seconds of a batch, which hardly depend on what else ran on its nodes."""
    return sum(task.cpu + (task.python or 0.0) for task in job.tasks)


def warm(batches: Sequence[Job]) -> int:
    """Index of the first batch whose CPU is near that of the last third; `LEAST` remain."""
    spent = [work(each) for each in batches]
    level = median(spent[-max(len(spent) // 3, LEAST) :])
    found = next(index for index, each in enumerate(spent) if each <= WARM * level)
    return max(min(found, len(spent) - LEAST), 0)


def pace(batches: Sequence[Job], begin: int, cost: Callable[[Job], float] = attrgetter("seconds")) -> Pace:
    """The pace of batches from an index on. How it falls is read from their CPU, which neighbours do not disturb.

    Args:
        cost: The seconds of a batch that are meant.
    """
    chosen = range(begin, len(batches), max(-((begin - len(batches)) // MOST), 1))
    rows, spent = [taken(batches[each]) for each in chosen], [work(batches[each]) for each in chosen]
    fall = 0.0
    if min(spent) > 0.0:
        fixed, per_row = _line(rows, spent)
        left = [log(cpu / ((fixed + per_row * count) or cpu)) for cpu, count in zip(spent, rows, strict=True)]
        fall = min(max(_slope([log(each + 1) for each in chosen], left), -1.0), 0.0)
    at_first = [cost(batches[each]) * (each + 1) ** -fall for each in chosen]
    return Pace(*_line(rows, at_first), fall)


def _line(rows: Sequence[int], values: Sequence[float]) -> tuple[float, float]:
    """What is fixed in some values, and what each row adds."""
    usual, per_row = median(values), max(_slope(rows, values), 0.0)
    if not per_row or not _varied(rows):
        return usual, 0.0
    fixed = median(value - per_row * count for value, count in zip(values, rows, strict=True))
    if fixed < 0.0:
        fixed, per_row = 0.0, median(value / count for value, count in zip(values, rows, strict=True) if count)
    errors = median(abs(value - fixed - per_row * count) for value, count in zip(values, rows, strict=True))
    better = errors < BETTER * median(abs(value - usual) for value in values)
    return (fixed, per_row) if better else (usual, 0.0)


def _varied(rows: Sequence[int]) -> bool:
    least, *_, most = quantiles(rows, n=10, method="inclusive")
    return most - least > VARIED * median(rows) > 0.0


def _slope(found: Sequence[float], values: Sequence[float]) -> float:
    """The median slope of all pairs, which single outliers do not change."""
    pairs = itertools.combinations(zip(found, values, strict=True), 2)
    slopes = [(after - before) / (later - sooner) for (sooner, before), (later, after) in pairs if later != sooner]
    return median(slopes) if slopes else 0.0

"""One application of a fleet: losses by skew, slots, placement and idle executors, and a plan that mends most."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

import attrs

from headworks.errors import HeadworksError, printable
from headworks_spark.events.eventlog import replay
from headworks_spark.replay.estimate import LATEST, evened, usual_slots, with_executors
from headworks_spark.replay.figures import figures_of
from headworks_spark.replay.forecast import pace, warm, work
from headworks_spark.replay.idle import executor_hours, idle_share
from headworks_spark.replay.queries import logged_queries
from headworks_spark.replay.request import alive, request_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from headworks import PluginHost
    from headworks_spark.events.eventlog import ExecutorLife, Replay
    from headworks_spark.replay.figures import LoggedFigures
    from headworks_spark.replay.queries import LoggedQuery

KEPT = 5_000
"""Jobs of a log that are remembered, the latest: if larger, a log of many short jobs takes more memory and time."""
SLOWER = 1.05
"""How many times as long a batch may take on fewer executors."""
FASTER = 0.9
"""A plan for the same executors, or for more, has to bring a batch below this part of its seconds."""
LEAST = 6
"""Batches from which on the later half is predicted from the earlier one."""
OFF = 0.1
"""Share of the measured seconds by which a prediction may be off without a mark."""


@attrs.frozen(kw_only=True)
class Verdict:
    """An application by its log; seconds are those of a batch of the query with most task time, or of a repeated job.

    Attributes:
        log: Path. `size`: its bytes. `changed`: when it was, in seconds since the epoch.
        asked: Schedulers whose placements were computed.
        fault: Why nothing is computed; "" if all is.
        share: Part of all task time that is the query's.
        executor_hours: Of all executors. `idle_hours`: those of them in which an executor ran no task.
        seconds: Of a batch as measured. `computed`: as its tasks ran, without scheduling.
        skew: Seconds less if the tasks of each stage were even. `remote`: if no task had waited for blocks of other
            nodes. `slots`: with twice the executors.
        expected: Of a coming batch if nothing changes, with the rows of the later half.
        plan: What to change. `planned_seconds`, `planned_hours`: predicted with it.
        error: Of the same prediction for the later half of the batches, from the earlier: share of what was measured.
            `own_error`: within the earlier half, so that it is known before the later one. `work_error`: of CPU.
        marks: Sentences on what does not fit.
    """

    log: str
    size: int = 0
    changed: float = 0.0
    asked: str = ""
    fault: str = ""
    application: str = ""
    spark: str = ""
    query: str = ""
    batches: int = 0
    share: float = 0.0
    executors: int = 0
    executor_hours: float = 0.0
    idle_hours: float = 0.0
    seconds: float = 0.0
    computed: float = 0.0
    skew: float = 0.0
    remote: float = 0.0
    slots: float = 0.0
    expected: float = 0.0
    plan: str = ""
    planned_seconds: float = 0.0
    planned_hours: float = 0.0
    error: float | None = None
    own_error: float | None = None
    work_error: float | None = None
    marks: tuple[str, ...] = ()


def judged(log: str, schedulers: Sequence[str], host: PluginHost) -> Verdict:
    """The verdict on a log, which says why if there is none.

    Args:
        schedulers: Those whose placements are computed.
    """
    try:
        read = replay(log, kept=KEPT)
        found = logged_queries(read)
        if not found:
            return Verdict(log=log, fault=f"no finished job all of whose tasks ran in {read.lines} lines")
        return _judged(log, read, found, schedulers, host)
    except HeadworksError as error:
        return Verdict(log=log, fault=printable(str(error)))
    except Exception as error:  # noqa: BLE001 - a file of others may hold anything
        return Verdict(log=log, fault=printable(f"cannot be judged: {type(error).__name__}: {error}"))


def _judged(
    log: str, read: Replay, found: Sequence[LoggedQuery], schedulers: Sequence[str], host: PluginHost
) -> Verdict:
    query = found[0]
    there = len(alive(read.executors, query.batches[-1]))
    counts = {-(-there // part) for part in (2, 4, 8)} | {2 * there}
    figures = figures_of(query, read, request_of(query, read.executors), counts, schedulers, host)
    hours, now = executor_hours(read), figures.executors[0].seconds
    plan, seconds, executors = _plan(figures)
    error, own = prediction_error(query, read.executors), own_error(query, read.executors)
    half = len(query.batches) // 2
    expected = pace(query.batches, warm(query.batches)).usual(query.batches, half, len(query.batches) + 1)
    return Verdict(
        log=log,
        application=printable(read.application),
        spark=printable(read.spark),
        query=printable(query.name),
        batches=len(query.batches),
        share=query.busy / (sum(each.busy for each in found) or 1.0),
        executors=there,
        executor_hours=hours,
        idle_hours=hours * idle_share(read),
        seconds=query.seconds,
        computed=now,
        skew=now - evened(query, read.executors),
        remote=now - evened(query, read.executors, remote=True),
        slots=now - min(each.seconds for each in figures.executors),
        plan=plan,
        expected=expected,
        planned_seconds=max(expected + seconds - now, seconds if seconds != now else 0.0),
        planned_hours=hours * executors / there,
        error=error,
        own_error=own,
        work_error=work_error(query),
        marks=(*figures.marks, *_marks(read, error, own)),
    )


def _plan(figures: LoggedFigures) -> tuple[str, float, int]:
    """What to change, the computed seconds of a batch then, and the executors."""
    now, *others = figures.executors
    fewer = [each for each in others if each.executors < now.executors and each.seconds <= SLOWER * now.seconds]
    if fewer:
        least = min(fewer, key=lambda each: each.executors)
        return f"{least.executors} executors, not {now.executors}", least.seconds, least.executors
    placed = [(each.seconds, each.scheduler) for each in figures.placements[1:] if each.seconds is not None]
    best, scheduler = min(placed, default=(now.seconds, ""))
    if best < FASTER * now.seconds:
        return f"tasks placed by {scheduler}", best, now.executors
    more = min(others, key=lambda each: each.seconds, default=now)
    if more.seconds < FASTER * now.seconds:
        return f"{more.executors} executors, not {now.executors}", more.seconds, more.executors
    return "none", now.seconds, now.executors


def prediction_error(query: LoggedQuery, executors: Sequence[ExecutorLife]) -> float | None:
    """How far the median seconds of later batches are from those predicted from the earlier half; None of few.

    Predicted as a plan is: by the pace of the earlier half, once it was warm, for the rows of the later batches; and
    the earlier tasks are computed on the later executors.
    """
    half = len(query.batches) // 2
    return _error(query, executors, half) if 2 * half >= LEAST else None


def work_error(query: LoggedQuery) -> float | None:
    """How far the CPU of later batches is from that predicted alike: little where neighbours alone changed."""
    half = len(query.batches) // 2
    measured = median(map(work, query.batches[half:])) if 2 * half >= LEAST else 0.0
    if not measured:
        return None
    known = query.batches[:half]
    return abs(pace(known, warm(known), work).usual(query.batches, half, half + 1) - measured) / measured


def own_error(query: LoggedQuery, executors: Sequence[ExecutorLife]) -> float | None:
    """The same of the earlier half alone, of which the warm batches are split once more; None of few."""
    half = attrs.evolve(query, batches=query.batches[: len(query.batches) // 2])
    begin = warm(half.batches) if half.batches else 0
    split = (begin + len(half.batches)) // 2
    return _error(half, executors, split, begin) if split - begin >= LEAST // 2 else None


def _error(query: LoggedQuery, executors: Sequence[ExecutorLife], split: int, begin: int | None = None) -> float | None:
    known, later = query.batches[:split], query.batches[split:]
    earlier = attrs.evolve(query, batches=known[-LATEST:])
    there = alive(executors, later[-1])
    usual = usual_slots(alive(executors, known[-1]))
    count = max(round(sum(each.slots for each in there) / usual), 1)
    own, moved = with_executors(earlier, executors), with_executors(earlier, executors, count)
    found = pace(known, warm(known) if begin is None else begin).usual(query.batches, split, split + 1)
    predicted = max(found + moved.seconds - own.seconds, moved.seconds if moved != own else 0.0)
    measured = median(job.seconds for job in later)
    return abs(predicted - measured) / measured if measured else None


def _marks(read: Replay, error: float | None, own: float | None) -> Iterator[str]:
    if read.unread:
        yield f"{read.unread} of {read.lines} lines are no events"
    if error is None:
        yield f"fewer than {LEAST} batches: no prediction is checked"
        return
    if own is None:
        yield "the earlier half has too few batches to predict itself"
    elif own > OFF:
        yield f"the earlier half does not predict itself: it is off by {own:.0%}"
    if error > OFF:
        yield f"the prediction of the later half is off by {error:.0%}"


def in_order(found: Iterable[Verdict]) -> list[Verdict]:
    """Those first from which most executor-hours are to be had, as unused ones or as longer batches; faults last."""
    return sorted(found, key=lambda each: (bool(each.fault), -_to_win(each), each.log))


def _to_win(verdict: Verdict) -> float:
    faster = 1.0 - verdict.planned_seconds / verdict.expected if verdict.expected else 0.0
    return max(verdict.executor_hours - verdict.planned_hours, 0.0) + max(faster, 0.0) * verdict.executor_hours

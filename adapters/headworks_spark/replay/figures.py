"""Figures of one query in a log: what it took, and what it would take elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from headworks import compare
from headworks.control.guards import running
from headworks.model import Status
from headworks_spark.replay.estimate import Estimate, beside, with_executors, with_placement
from headworks_spark.replay.queries import StageFigures

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from headworks import PluginHost
    from headworks.model import Request
    from headworks_spark.events.eventlog import Replay
    from headworks_spark.replay.queries import LoggedQuery

LAST = "as the last batch ran"
OFF = 1 / 3
"""Share by which computed seconds, which scheduling and commit are no part of, may differ from measured ones."""


@attrs.frozen(kw_only=True)
class LoggedPlacement:
    """The tasks of a query where a scheduler would have them.

    Attributes:
        scheduler: Its name, or `LAST`.
        status: Of its plan.
        share: Traffic between nodes over all traffic, shuffles being even.
        seconds: Of a batch, computed; None without a place for every task.
    """

    scheduler: str
    status: str
    share: float
    seconds: float | None


@attrs.frozen(kw_only=True)
class LoggedFigures:
    """Figures of one query in a log.

    Attributes:
        query: Its name. `scope`: its id, or its job group.
        batches: Number of batches; the last ones of a long log.
        seconds: Median seconds of a batch as it was measured.
        failed: Task attempts that failed.
        executors: What was there in the last batch, and other numbers of them.
        placements: Seconds of a batch, and share of the traffic between nodes, by scheduler.
        marks: Sentences on what is computed and does not fit what was measured.
    """

    query: str
    scope: str
    batches: int
    seconds: float
    failed: int
    stages: tuple[StageFigures, ...]
    executors: tuple[Estimate, ...]
    placements: tuple[LoggedPlacement, ...]
    marks: tuple[str, ...] = ()


def figures_of(
    query: LoggedQuery,
    log: Replay,
    request: Request,
    counts: Iterable[int],
    schedulers: Sequence[str],
    host: PluginHost,
) -> LoggedFigures:
    """The figures of a query as it ran, with other numbers of executors, and where schedulers would put its tasks.

    Args:
        counts: Numbers of executors to compute; none takes half and twice of what there was.
        schedulers: Names of the schedulers to ask.
    """
    now = with_executors(query, log.executors)
    others = sorted({*(counts or (max(now.executors // 2, 1), 2 * now.executors))} - {now.executors})
    return LoggedFigures(
        query=query.name,
        scope=query.scope,
        batches=len(query.batches),
        seconds=query.seconds,
        failed=query.failed,
        stages=query.stages(),
        executors=(now, *(with_executors(query, log.executors, count) for count in others)),
        placements=tuple(_placements(query, log, request, schedulers, host)),
        marks=tuple(_marks(query, log, now.seconds)),
    )


def _marks(query: LoggedQuery, log: Replay, computed: float) -> Iterator[str]:
    if abs(computed - query.seconds) > OFF * query.seconds:
        yield (
            f"as it ran, a batch took {query.seconds:.2f} s and is computed as {computed:.2f} s: compare computed "
            f"figures with each other alone (other jobs ran in {beside(query, log.history.jobs):.0%} of its time)"
        )


def _placements(
    query: LoggedQuery, log: Replay, request: Request, schedulers: Sequence[str], host: PluginHost
) -> Iterator[LoggedPlacement]:

    before = running(request)
    seconds = None if before.unplaced else with_placement(query, log.executors, request.assignment)
    yield LoggedPlacement(scheduler=LAST, status="", share=before.share, seconds=seconds)
    for row in compare(request, schedulers, host=host).plans:
        ok = row.plan.status is Status.OK
        yield LoggedPlacement(
            scheduler=row.scheduler,
            status=row.plan.label,
            share=row.plan.scores.share,
            seconds=with_placement(query, log.executors, row.plan.assignment) if ok else None,
        )

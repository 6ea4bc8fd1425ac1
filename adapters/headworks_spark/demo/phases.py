"""Phases of the demo on a cluster: plan, re-place the running query, measure a year of rows under the new placement."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import attrs

from headworks.documents import digest
from headworks.errors import EngineError
from headworks.model import FrozenMap, Observation, Plan, Request, Slot, Status
from headworks.model.scaling import at_load, declared_from_measured
from headworks_spark.demo.flights import BATCHES_A_YEAR
from headworks_spark.demo.offline import ALONE, free_scores
from headworks_spark.monitor import Totals, next_batches, observation, totals
from headworks_spark.nodes import nodes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headworks import PluginHost
    from headworks_spark.events.history import Job
    from headworks_spark.target import SparkTarget

WARM_UP = 15
"""Batches that are not measured: they start the Python workers, and until the JVM has compiled all, each is faster than
the one before. With fewer, what is measured first seems slow, and that is Spark's own placement."""
STEP = 3
"""Of so many of them each message tells."""


SLOWDOWN = 1.0
"""Seconds of a batch that a plan may take, relative to Spark's own: with more, it may trade them for fewer nodes, and
rows a second would not compare."""
ANEW: FrozenMap[str, Any] = FrozenMap({"rebalance": True})
"""Options of a static scheduler that is asked to place a running query anew."""
SCHEDULERS: FrozenMap[str, FrozenMap[str, Any]] = FrozenMap(
    {"even": ANEW, "resource-aware": ANEW, "dstorm": FrozenMap(), "dstorm-plus": FrozenMap()}
)
"""The schedulers that the demo compares, in this order, and their options."""


@attrs.frozen(kw_only=True)
class MeasuredBatch:
    """One batch: when it began and ended, seconds since 1970, its rows that crossed the exchange, and their bytes.

    `remote` counts the bytes between nodes alone.
    """

    begin: float
    end: float
    rows: int
    remote: int


@attrs.frozen(kw_only=True)
class MeasuredPlacement:
    """One placement and a year of rows under it.

    Attributes:
        label: Its name in the table.
        plan: The plan that was carried out; None where Spark decided alone.
        seconds: Time to plan.
        asked: The scheduler's request; None without a plan.
        measured: Totals of the batches. `batches`: each of them.
        placed: Assignment that was seen in the last of them.
        batch_seconds: Seconds of a batch at the load that was planned for, as the plan has it.
        warnings: Sentences of preflight.
    """

    label: str
    plan: Plan | None = None
    seconds: float = 0.0
    asked: Request | None = None
    measured: Totals
    batches: tuple[MeasuredBatch, ...] = ()
    placed: FrozenMap[str, Slot]
    batch_seconds: float = 0.0
    warnings: tuple[str, ...] = ()

    @property
    def nodes_used(self) -> int:
        """Nodes on which tasks were seen."""
        return len({slot.node for slot in self.placed.values()})


def warm_up(target: SparkTarget, say: Callable[[str], None]) -> None:
    """Wait until the query's first batches are done, and say how many are."""
    for done in range(STEP, WARM_UP + 1, STEP):
        next_batches(target, STEP)
        say(f"{done} of {WARM_UP} batches are done")


def alone(target: SparkTarget, load: float) -> tuple[MeasuredPlacement, Observation]:
    """Measure a year placed by Spark itself, before anything is asked.

    Args:
        load: Share of all CPU at which its batch is told.

    Returns:
        The phase, and the observation of the pilot run, from which all schedulers plan.
    """
    jobs = next_batches(target, BATCHES_A_YEAR)
    seen = observation(target, jobs)
    # Another batch is dealt anew: what Spark takes is what its rule takes, and not what one placement would.
    batch = free_scores(question(target, seen, seen.assignment, load)).batch_seconds or 0.0
    phase = MeasuredPlacement(
        label=ALONE,
        measured=totals(target, jobs),
        batches=_batches(target, jobs),
        placed=seen.assignment,
        batch_seconds=batch,
    )
    return phase, seen


def _batches(target: SparkTarget, jobs: Sequence[Job]) -> tuple[MeasuredBatch, ...]:
    return tuple(
        MeasuredBatch(begin=job.start.time, end=job.end.time, rows=each.rows, remote=each.remote)
        for job, each in ((job, totals(target, [job])) for job in jobs)
    )


def question(target: SparkTarget, pilot: Observation, running: FrozenMap[str, Slot], load: float) -> Request:
    """Request for a scheduler: the pilot run's costs and traffic at a load, and the assignment that runs.

    Args:
        pilot: Observation while Spark placed alone.
        running: Assignment by task id.
        load: Share of all CPU that the tasks need together, 0 to 1.
    """
    # One pilot run for all: costs that were measured under one plan would favour or punish the next one.
    request = Request.of(attrs.evolve(pilot, assignment=running))
    live = attrs.evolve(request.cluster, nodes=nodes(target.spark))
    return declared_from_measured(at_load(attrs.evolve(request, cluster=live), load))


def carry_out(
    host: PluginHost, target: SparkTarget, scheduler: str, request: Request, show: Callable[[Plan], None]
) -> MeasuredPlacement:
    """Plan, show the plan, re-place the running query, and measure a year under the new placement.

    Args:
        scheduler: One of `SCHEDULERS`.
        show: Called with the plan before it is carried out.

    Raises:
        EngineError: The scheduler has no feasible plan, or the engine cannot carry it out.
    """
    request = attrs.evolve(request, limits=attrs.evolve(request.limits, slowdown=SLOWDOWN))
    begin = time.perf_counter()
    plan = host.schedule(scheduler, request, SCHEDULERS[scheduler])
    seconds = time.perf_counter() - begin
    if plan.status is not Status.OK:
        why = "; ".join(reason.message for reason in plan.reasons[:3])
        raise EngineError(f"{scheduler}: the plan for request {digest(request)[:15]} is {plan.status}: {why}")
    show(plan)
    warnings = tuple(host.preflight("spark", target, plan))
    receipt = host.execute("spark", target, plan)
    if not receipt.done:
        host.rollback("spark", target, receipt)
        failed = "; ".join(step.message for step in receipt.steps if not step.done)
        raise EngineError(f"{scheduler}: the plan was not carried out: {failed}")
    jobs = next_batches(target, BATCHES_A_YEAR)
    return MeasuredPlacement(
        label=scheduler,
        plan=plan,
        seconds=seconds,
        asked=request,
        measured=totals(target, jobs, plan.assignment),
        batches=_batches(target, jobs),
        placed=observation(target, jobs).assignment,
        batch_seconds=plan.scores.batch_seconds or 0.0,
        warnings=warnings,
    )

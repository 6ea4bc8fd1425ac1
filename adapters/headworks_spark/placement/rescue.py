"""Watchdog that frees stages which wait for executors that are gone, in a session without Headworks's task scheduler.

Spark's delay scheduling counts tasks that prefer a dead executor as runnable there, and waits twice
`spark.locality.wait` for them. The watchdog lets such a stage go on at once; its tasks then run anywhere.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Any, Self

import attrs

from headworks_spark.driver.gateway import scala_context

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

LOG = logging.getLogger("headworks.spark")
"""The adapter's logger; what fails beside a user's query goes here and nowhere else."""
WAIT = "spark.locality.wait"
"""Spark's setting of delay scheduling, which it reads anew for every stage."""
BOUNDED = "15s"
"""Wait for a preferred location at level soft: if larger, a busy executor holds up a stage longer; if smaller, more
tasks miss the place that was asked."""


@attrs.frozen(kw_only=True)
class Standstill:
    """A stage attempt: how many tasks it has begun so far, how many still wait, and since when that is so."""

    begun: int
    waiting: int
    since: float


def standstills(
    before: Mapping[tuple[int, int], Standstill], now: float, stages: Mapping[tuple[int, int], tuple[int, int]]
) -> dict[tuple[int, int], Standstill]:
    """State of each active (stage, attempt) after another look at it.

    Args:
        before: States after the look before.
        now: Time of this look, seconds of a monotonic clock.
        stages: (begun, waiting) tasks of each active (stage, attempt).
    """
    found = {}
    for key, (begun, waiting) in stages.items():
        old = before.get(key)
        # The time starts again with every task that begins: a slow stage is none that stands still.
        since = old.since if old is not None and old.begun == begun else now
        found[key] = Standstill(begun=begun, waiting=waiting, since=since)
    return found


def stuck(found: Mapping[tuple[int, int], Standstill], now: float, patience: float) -> list[tuple[int, int]]:
    """The (stage, attempt) pairs that have waiting tasks and began none for a while, in order.

    Args:
        found: State of each active (stage, attempt).
        now: Time, on the clock of `found`.
        patience: Seconds without a beginning.
    """
    return sorted(key for key, each in found.items() if each.waiting and now - each.since >= patience)


class Watchdog:
    """Thread that looks for stages that stand still while tasks wait for a dead executor. A context manager."""

    def __init__(self, spark: SparkSession, *, patience: float = 5.0, interval: float = 1.0) -> None:
        """Prepare; the block begins.

        Args:
            patience: Seconds without a beginning after which a stage that waits for a dead executor is freed: if
                larger, a lost executor costs a batch more; if smaller, a replacement that comes at once is too late.
            interval: Seconds between two looks.
        """
        self._spark = spark
        self._patience = patience
        self._interval = interval
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="headworks-watchdog", daemon=True)
        self.rescued: list[tuple[int, int]] = []
        """(stage, attempt) of what was freed, oldest first."""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Look no more. Idempotent."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        seen: dict[tuple[int, int], Standstill] = {}
        while not self._ended.wait(self._interval):
            try:
                seen = standstills(seen, time.monotonic(), active_stages(self._spark))
                for key in stuck(seen, time.monotonic(), self._patience):
                    # A stage whose tasks are long, and more than its cores, begins none for a while either.
                    if waits_for_the_dead(self._spark, *key):
                        rescue(self._spark, *key)
                        self.rescued.append(key)
                        seen.pop(key)
            except Exception as error:  # noqa: BLE001 - the session may stop at any moment
                LOG.debug("the watchdog could not look: %s", error)


def active_stages(spark: Any) -> dict[tuple[int, int], tuple[int, int]]:
    """(begun, waiting) tasks of each active (stage, attempt)."""
    found = scala_context(spark.sparkContext).statusStore().activeStages()
    stages = {}
    for stage in (found.apply(index) for index in range(found.size())):
        begun = stage.numActiveTasks() + stage.numCompleteTasks() + stage.numFailedTasks() + stage.numKilledTasks()
        waiting = stage.numTasks() - stage.numActiveTasks() - stage.numCompleteTasks()
        if str(stage.status()) == "ACTIVE":
            stages[stage.stageId(), stage.attemptId()] = (begun, waiting)
    return stages


def waits_for_the_dead(spark: Any, stage: int, attempt: int) -> bool:
    """True if tasks of a stage wait for an executor that is gone, which delay scheduling takes to be able to run them.

    Args:
        stage: Id of the stage.
        attempt: Number of its attempt.
    """
    scheduler = scala_context(spark.sparkContext).taskScheduler()
    manager = scheduler.taskSetManagerForAttempt(stage, attempt)
    if manager.isEmpty():
        return False
    # Spark takes what has begun off these lists; an executor of which nothing waits has none.
    waited_for = manager.get().pendingTasks().forExecutor().keysIterator()
    gone = False
    while waited_for.hasNext() and not gone:
        gone = not scheduler.isExecutorAlive(waited_for.next())
    return gone


def rescue(spark: Any, stage: int, attempt: int) -> bool:
    """Let the waiting tasks of a stage run anywhere from now on, and no other stage's.

    Args:
        stage: Id of the stage.
        attempt: Number of its attempt.

    Returns:
        False if that attempt is not there any more.
    """
    manager = scala_context(spark.sparkContext).taskScheduler().taskSetManagerForAttempt(stage, attempt)
    if manager.isEmpty():
        return False
    # The task set's own copy of `spark.locality.wait`, one for each of its locality levels.
    waits = manager.get().localityWaits()
    for level in range(len(waits)):
        waits[level] = 0
    return True

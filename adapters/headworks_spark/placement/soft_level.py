"""Level soft of a session, in force while something in it is placed: wishes told, the wait bounded, stages rescued."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING

from headworks_spark.driver.gateway import scala_context
from headworks_spark.placement.rescue import BOUNDED, WAIT, Watchdog
from headworks_spark.placement.state import StatePlacement

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import SparkSession

    from headworks_spark.placement.table import Place


class SoftLevel:
    """The parts of level soft, begun by the first who places something and ended with the last."""

    def __init__(self, spark: SparkSession, ran: Callable[[str, int], Mapping[Place, str]]) -> None:
        """Prepare for a session; nothing of it is changed yet.

        Args:
            ran: The executor on which each place of a query ran in a batch.
        """
        self._spark = spark
        self._ran = ran
        self._lock = threading.Lock()
        self._users = 0
        self._stack = ExitStack()
        self._placement: StatePlacement | None = None

    def acquire(self) -> StatePlacement:
        """The session's places; each call wants one of `release`."""
        with self._lock:
            if self._placement is None:
                self._placement = self._begin()
            self._users += 1
            return self._placement

    def release(self) -> None:
        """The session as it was, if nobody else places something."""
        with self._lock:
            self._users -= 1
            if not self._users:
                self._placement = None
                self._stack.close()

    def _begin(self) -> StatePlacement:
        with ExitStack() as stack:
            placement = StatePlacement(self._spark, self._ran)
            # Closed in reverse order: watchdog and bounded wait go before the places that they make safe.
            stack.callback(placement.close)
            stack.enter_context(bounded_wait(self._spark))
            stack.enter_context(Watchdog(self._spark))
            self._stack = stack.pop_all()
        return placement


def bounded_wait(spark: SparkSession) -> ExitStack:
    """Bound Spark's wait for a preferred location, a setting that it reads for each stage; the context restores it.

    Spark has one such setting for all stages of an application. If somebody else sets it meanwhile, it stays.
    """
    conf = scala_context(spark.sparkContext).conf()
    before = conf.getOption(WAIT)

    def restore() -> None:
        if conf.get(WAIT, "") == BOUNDED:
            _ = conf.set(WAIT, before.get()) if before.isDefined() else conf.remove(WAIT)

    conf.set(WAIT, BOUNDED)
    stack = ExitStack()
    stack.callback(restore)
    return stack

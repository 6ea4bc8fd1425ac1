"""Settings of a session that weaken what is asked of it, and queries that cannot be placed at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headworks.errors import EngineError
from headworks_spark.driver.driver import HARD
from headworks_spark.driver.reach import driver_of
from headworks_spark.driver.session import ADAPTIVE, NOT_OURS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession

DYNAMIC = "spark.dynamicAllocation.enabled"
"""Spark's setting of dynamic allocation, fixed at the start of a session."""
MOST = "spark.dynamicAllocation.maxExecutors"
"""Its bound."""
SPECULATION = "spark.speculation"
"""Spark's setting of second attempts of slow tasks, fixed as well."""
REFUSED = {
    "ContinuousTrigger": "in continuous processing tasks begin once and never again, so that no place is ever read",
    "RealTimeTrigger": "in real-time mode all stages run at once, and tasks that wait for a place would hold up those "
    "that write to them",
}
"""Triggers of queries that cannot be placed, and why."""


def warnings(spark: SparkSession) -> tuple[str, ...]:
    """What keeps tasks of a session from their places, one sentence each: its settings, or that it has no scheduler."""
    driver = driver_of(spark)
    if driver.level() != HARD:
        return (NOT_OURS,)
    settings = {name: driver.setting(name, "") for name in (SPECULATION, DYNAMIC, MOST)}
    settings[ADAPTIVE] = str(spark.conf.get(ADAPTIVE, "true")).lower()
    return (*_weak(settings), *driver.classes.Faults.read().splitlines())


def _weak(settings: Mapping[str, str]) -> Iterator[str]:
    if settings.get(SPECULATION) == "true":
        yield f"{SPECULATION} is true: second attempts of tasks run anywhere; start the session with false"
    if settings[ADAPTIVE] == "true":
        yield (
            f"{ADAPTIVE} is true: each exchange of a DataFrame or a stateless query is a job of its own then, and is "
            "not placed; set it to false before the query starts (stateful queries run without it in any case)"
        )
    if settings.get(DYNAMIC) == "true":
        most = settings.get(MOST) or "no bound"
        yield (
            f"{DYNAMIC} is true: tasks that wait for their node count as a backlog, for which executors are asked "
            f"({MOST}: {most}), and executors that a plan leaves empty are removed; "
            "--elastic is refused"
        )


def refuse_mode(spark: Any, query: Any) -> None:
    """Refuse a query whose tasks would not run where asked, or would hang.

    Raises:
        EngineError: Its trigger is one of `REFUSED`.
    """
    kind = driver_of(spark).trigger(query).kind
    if kind in REFUSED:
        raise EngineError(
            f"query {query.name or query.id} cannot be placed, as its trigger is Spark's {kind}: {REFUSED[kind]}; "
            "start it with trigger(processingTime=...)"
        )


def dynamic_allocation(spark: Any) -> bool:
    """True if Spark itself adds and removes the executors of a session."""
    return driver_of(spark).setting(DYNAMIC, "false") == "true"

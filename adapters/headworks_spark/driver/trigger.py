"""Triggers of streaming queries: PySpark takes one and does not tell it again."""

from __future__ import annotations

from typing import Any

import attrs

from headworks_spark.driver.gateway import stream_execution


@attrs.frozen
class Trigger:
    """The trigger of a query: Spark's name of its kind, and seconds between two of them, 0 where there is no such."""

    kind: str = ""
    seconds: float = 0.0


def trigger_of(query: Any) -> Trigger:
    """The trigger of a streaming query; that of None is none."""
    if query is None:
        return Trigger()
    trigger = stream_execution(query).trigger()
    kind = trigger.getClass().getSimpleName().rstrip("$")
    if kind == "RealTimeTrigger":
        return Trigger(kind, trigger.batchDurationMs() / 1e3)
    timed = kind in ("ProcessingTimeTrigger", "ContinuousTrigger")
    return Trigger(kind, trigger.intervalMs() / 1e3 if timed else 0.0)

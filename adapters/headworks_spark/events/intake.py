"""Load and throughput of a streaming query, by what its micro-batches reported: pure functions of these reports.

A micro-batch completes all rows that it takes, so what sinks receive says nothing of a query that falls behind. It
shows outside: rows arrive faster than batches process them, or offsets of the source run away.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headworks_spark.events.event import QueryProgress

BATCHES = 10
"""Batches that are judged together."""
LEAST = 4
"""Batches without which no throughput is told."""


def intake(progress: Sequence[QueryProgress]) -> tuple[float, float | None] | None:
    """Rows/s that arrived for a query, and rows/s of them that it completed; None until it took some twice.

    It completes what arrives unless batches take longer than the rows of a batch took to arrive, the newer half of them
    too: a query that had one slow batch, its first for example, has caught up.

    Args:
        progress: Its batches, oldest first; the last `BATCHES` of its newest run that took rows count.
    """
    used = [each for each in progress if each.run == progress[-1].run and each.rows and each.done > 0][-BATCHES:]
    # Not Spark's rate of arrival: it divides by the time since the last trigger, be it one that found no row.
    if len(used) < 2 or (arriving := used[-1].begin - used[0].begin) <= 0:
        return None
    offered = max((sum(each.rows for each in used[1:]) + _growth(used)) / arriving, 0.0)
    if len(used) < LEAST:
        return offered, None
    return offered, min(max(_processed(used), _processed(used[len(used) // 2 :])), offered)


def _processed(used: Sequence[QueryProgress]) -> float:
    """Rows/s that batches process while they run."""
    return sum(each.rows for each in used) / sum(each.rows / each.done for each in used)


def _growth(used: Sequence[QueryProgress]) -> float:
    """Rows by which the source ran ahead of the query from the first batch to the last."""
    first, last = used[0].behind, used[-1].behind
    return 0.0 if first is None or last is None else float(last - first)

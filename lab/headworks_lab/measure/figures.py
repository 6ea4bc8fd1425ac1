"""Figures of a window on a real engine, in the simulator's names, as far as they are the same for each engine."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import attrs
import psutil

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headworks.model import Observation

DEGRADED = 0.4
"""A second in which less than this part of the offered load is completed is degraded, as in the simulator."""
PERCENTILES = (50, 95, 99)
FULL = 0.95
"""A second in which this part of the offered load is completed ends a start. With more, the noise of a second counts as
a start that goes on."""
BURNED = "burned"
"""Figure that compares what tasks used of CPU with what the plan counted with."""


@attrs.frozen(kw_only=True)
class Witness:
    """A look at a cluster from outside: what its interfaces carried between nodes, and its worker processes.

    Attributes:
        time: Seconds of a clock.
        bytes: Bytes from node to node so far; None where nodes are not apart.
        pids: Worker processes.
    """

    time: float
    bytes: int | None
    pids: frozenset[int]


def percentile(delays: Mapping[int, int], percent: float) -> float | None:
    """The latency that so many percent of the tuples do not exceed, in ms; None of no tuple.

    Args:
        delays: Number of tuples by their latency.
        percent: 0 to 100.
    """
    left = sum(delays.values()) * percent / 100
    for milliseconds, count in sorted(delays.items()):
        left -= count
        if left <= 0:
            return float(milliseconds)
    return None


def latencies(delays: Mapping[int, int]) -> dict[str, float]:
    """Percentiles of the latency in ms, by the name of the figure; none of no tuple.

    Args:
        delays: Number of tuples by their latency.
    """
    found = {f"latency_p{each}": percentile(delays, each) for each in PERCENTILES}
    return {name: value for name, value in found.items() if value is not None}


def traffic(seen: Observation) -> dict[str, float]:
    """Share of the tuples between tasks that crossed nodes, and nodes with a task, by the name of the figure.

    Args:
        seen: With metrics.
    """
    at = {task: slot.node for task, slot in seen.assignment.items()}
    flows = [each for each in seen.metrics.flows if each.source in at and each.target in at]
    whole = sum(each.tuples or 0.0 for each in flows)
    across = sum(each.tuples or 0.0 for each in flows if at[each.source] != at[each.target])
    return {"inter_node": across / whole if whole else 0.0, "nodes": float(len({*at.values()}))}


def lapses(rates: Sequence[float], offered: float) -> dict[str, float]:
    """Seconds in which nothing, and in which little of the load, was completed, by the name of the figure.

    Args:
        rates: Tuples completed in each second.
        offered: Tuples/s.
    """
    degraded = sum(each <= DEGRADED * offered for each in rates) if offered > 0 else 0
    return {"stopped": float(sum(each == 0 for each in rates)) if offered > 0 else 0.0, "degraded": float(degraded)}


def start(rates: Sequence[float], offered: float) -> dict[str, float]:
    """Seconds until nearly all of the load was first completed, by the name of the figure; none if it never was.

    Args:
        rates: Tuples completed in each second from the begin on.
        offered: Tuples/s.
    """
    end = next((second for second, rate in enumerate(rates, start=1) if rate >= FULL * offered), None)
    return {} if end is None else {"start": float(end)}


def outside(before: Witness, after: Witness) -> dict[str, float]:
    """Bytes per second between nodes, and worker processes that ended, by the name of the figure.

    Args:
        before: At the start of the window.
        after: At its end.
    """
    found = {"restarts": float(len(before.pids - after.pids))}
    if before.bytes is None or after.bytes is None:
        return found
    return {**found, "bytes_between": (after.bytes - before.bytes) / (after.time - before.time)}


def agreement(planned: float, used: float) -> dict[str, float]:
    """CPU that tasks used over what the plan counted with, by the name of the figure; none of a plan that counts none.

    Args:
        planned: Processor time or CPU points.
        used: The same of tasks at the same load.
    """
    return {BURNED: used / planned} if planned > 0 else {}


def processor_seconds(pid: int) -> float:
    """CPU seconds so far of a process, and of its children that have ended; 0 if it is gone."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return float(sum(psutil.Process(pid).cpu_times()[:4]))
    return 0.0

"""Sizes that Spark tells piece by piece: memory of an executor, state of a task."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from headworks.model import Topology

UNITS = {"b": 2.0**-20, "k": 2.0**-10, "m": 1.0, "g": 2.0**10, "t": 2.0**20, "p": 2.0**30}
"""MB of a unit in which Spark takes sizes."""
SIZE = re.compile(r"(\d+)([bkmgtp]?)b?")
"""Number and unit of a size."""
OVERHEAD = (384.0, 0.1)
"""MB, and share of the heap, that YARN and Kubernetes add to a container at least, where nothing else is set."""
CONTAINERS = ("yarn", "k8s")
"""Masters whose executors run in containers that are larger than their heap."""


def executor_memory(heap: float, setting: Callable[[str], str]) -> float:
    """MB that an executor may use: heap, off-heap, Python workers, and overhead where it has a container.

    Args:
        heap: MB of its heap.
        setting: Value of a setting of the application, "" without one.
    """
    used = setting("spark.memory.offHeap.enabled").lower() == "true"
    whole = heap + megabytes(setting("spark.executor.pyspark.memory"))
    whole += megabytes(setting("spark.memory.offHeap.size"), "b") if used else 0.0
    if not setting("spark.master").startswith(CONTAINERS):
        return whole
    stated = setting("spark.executor.memoryOverhead")
    least, share = OVERHEAD
    share = float(setting("spark.executor.memoryOverheadFactor") or share)
    return whole + (megabytes(stated) if stated else max(least, share * heap))


def amount(text: str) -> float | None:
    """A finite number that is not negative, such as bytes/s; None for what is none.

    Args:
        text: What somebody wrote.
    """
    try:
        found = float(text)
    except ValueError:
        return None
    return found if 0.0 <= found < math.inf else None


def megabytes(text: str, unit: str = "m") -> float:
    """MB of a size as Spark takes it, such as `512m`, `1gb` or `1024`; 0 for what is none.

    Args:
        unit: Unit of a number without one.
    """
    found = SIZE.fullmatch(text.strip().lower())
    return float(found[1]) * UNITS[found[2] or unit] if found else 0.0


def state_of(
    topology: Topology, stages: Mapping[str, int], operators: Sequence[Collection[int]], sizes: Sequence[float]
) -> Iterator[tuple[str, float]]:
    """Component and MB of state of one of its tasks, of those that keep state.

    Args:
        stages: Stage ordinal of each component.
        operators: Numbers of the stateful operators of each stage of the query's plan, by ordinal.
        sizes: Bytes of state of each operator, by number: Spark numbers and lists them from the end of the query.
    """
    for part in topology.components:
        own = operators[stages[part.id]] if stages.get(part.id, len(operators)) < len(operators) else ()
        if own and max(own) < len(sizes):
            yield part.id, sum(sizes[number] for number in own) / part.parallelism / 1e6

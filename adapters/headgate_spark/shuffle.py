"""Who sent how much to whom: the driver's map output tracker joined with where and what tasks read.

The tracker knows, for every map task, the bytes of each reduce partition, but rounds them (a byte on a log scale);
the tasks' own metrics are exact, but name no sender. Sizes scaled to the metrics are both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray
    from pyspark import SparkContext

    from headgate_spark.history import Job

MAX_CELLS = 20_000
"""A larger exchange is not read: one call to the JVM a cell, some 0.1 ms each. Its flows are left out."""


@attrs.frozen(kw_only=True, eq=False)
class Shuffle:
    """The exchange from stage `source` to `target`: float64 (maps, reduces), bytes, as the tracker rounds them."""

    source: int
    target: int
    sizes: NDArray[np.float64]


@attrs.frozen(kw_only=True, eq=False)
class Exchange:
    """What one shuffle moved, scaled to what the reading tasks measured.

    Attributes:
        bytes, rows: float64 (maps, reduces). Rows follow the bytes of each reading task.
        source, target: Ordinals of the two stages in their job.
    """

    source: int
    target: int
    bytes: NDArray[np.float64]
    rows: NDArray[np.float64]


class MapOutputs:
    """Reads the map output tracker of a driver over py4j.

    SparkEnv would be the official door; its class cannot be reflected in Spark 4.3 without a missing dependency.
    """

    def __init__(self, context: SparkContext) -> None:
        java: Any = context
        scheduler = java._jsc.sc().dagScheduler()  # noqa: SLF001
        kind = java._jvm.java.lang.Class.forName("org.apache.spark.scheduler.DAGScheduler")  # noqa: SLF001
        field = kind.getDeclaredField("mapOutputTracker")
        field.setAccessible(True)
        self._statuses: Any = field.get(scheduler).shuffleStatuses()

    def sizes(self, maps: Mapping[int, int], reduces: int) -> NDArray[np.float64] | None:
        """Bytes of each block that some map tasks wrote.

        Args:
            maps: Partition of each map id (the id of the successful task attempt).
            reduces: Number of reduce partitions.

        Returns:
            float64 (maps, reduces), or None: too large, or Spark has forgotten the shuffle.
        """
        width = max(maps.values()) + 1
        if width * reduces > MAX_CELLS:
            return None
        for statuses in self._newest_first():
            found = next((each for each in statuses if each is not None), None)
            if found is not None and found.mapId() in maps:
                return _read(statuses, maps, width, reduces)
        return None

    def _newest_first(self) -> Iterator[Any]:
        ids = self._statuses.keys().mkString(",")
        for number in sorted((int(each) for each in ids.split(",") if each), reverse=True):
            status = self._statuses.get(number)
            if status.isDefined():
                yield status.get().mapStatuses()


def _read(statuses: Any, maps: Mapping[int, int], width: int, reduces: int) -> NDArray[np.float64]:
    sizes = np.zeros((width, reduces))
    for status in statuses:
        partition = None if status is None else maps.get(status.mapId())
        if partition is not None:
            sizes[partition] = [status.getSizeForBlock(reduce) for reduce in range(reduces)]
    return sizes


def exchanges(job: Job) -> Iterator[Exchange]:
    """What each shuffle of a job moved from task to task.

    A stage that reads several shuffles has one measured sum for all of them: each gets its share by the tracker's
    sizes. Reduce partitions have to be 1:1 with tasks (no adaptive coalescing); a shuffle where they are not is
    left out.
    """
    for target in sorted({shuffle.target for shuffle in job.shuffles}):
        shuffles = [shuffle for shuffle in job.shuffles if shuffle.target == target]
        width = max(shuffle.sizes.shape[1] for shuffle in shuffles)
        measured = _measured(job, target, width)
        if measured is None:
            continue
        offered = sum(shuffle.sizes.sum(axis=0) for shuffle in shuffles)
        factor = np.divide(measured, offered, out=np.zeros_like(measured), where=np.asarray(offered) > 0)
        for shuffle in shuffles:
            yield Exchange(
                source=job.start.ordinal(shuffle.source),
                target=job.start.ordinal(target),
                bytes=shuffle.sizes * factor[0],
                rows=shuffle.sizes * factor[1],
            )


def _measured(job: Job, stage: int, width: int) -> NDArray[np.float64] | None:
    """float64 (2, width): bytes and rows that each task of a stage read; None if tasks and partitions differ."""
    tasks = [task for task in job.tasks if task.stage == stage]
    if sorted(task.partition for task in tasks) != list(range(width)):
        return None
    return np.array([(task.local + task.remote, task.read) for task in tasks], dtype=np.float64).T

"""Traffic from task to task: sizes of shuffle blocks in the driver's map output tracker, scaled to what tasks read.

The tracker knows, for every map task, the bytes of each reduce partition, but rounds them (a byte on a log scale);
the tasks' own metrics are exact, but name no sender. Sizes scaled to the metrics are both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from headworks_spark.driver.driver import Sizes
    from headworks_spark.events.history import Job

MAX_CELLS = 1_000_000
"""Shuffles with more blocks (map tasks x reduce partitions) are not read, and their flows left out: if larger, one call
to the driver may take seconds and 8 bytes a block."""


@attrs.frozen(kw_only=True, eq=False)
class ShuffleTraffic:
    """Bytes and rows that one shuffle moved from task to task, scaled to what the reading tasks measured.

    Attributes:
        bytes, rows: float64 (maps, reduces). Rows follow the bytes of each reading task.
        source, target: Ordinals of the two stages in their job.
    """

    source: int
    target: int
    bytes: NDArray[np.float64]
    rows: NDArray[np.float64]


def read_sizes(tracker: Sizes, maps: Mapping[int, int], reduces: int) -> NDArray[np.float32] | None:
    """Bytes of each block that some map tasks wrote, in one call to the driver of this process.

    Args:
        tracker: The map output tracker of its session.
        maps: Partition of each map id (the id of the successful task attempt).
        reduces: Number of reduce partitions.

    Returns:
        float32 (maps, reduces), or None: it is too large, or Spark has forgotten it.
    """
    if len(maps) * reduces > MAX_CELLS:
        return None
    # One row a map task: its id, then the bytes of each reduce partition, as Java writes longs (big-endian).
    rows = np.frombuffer(tracker.read(max(maps), reduces), dtype=">i8").reshape(-1, reduces + 1)
    sizes = np.zeros((max(maps.values()) + 1, reduces), dtype=np.float32)
    for row in rows:
        if row[0] in maps:
            sizes[maps[int(row[0])]] = row[1:]
    return sizes if len(rows) else None


def shuffle_traffic(job: Job) -> Iterator[ShuffleTraffic]:
    """Traffic of each shuffle of a job.

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
        # factor[k, j] = measured[k, j] / sum over shuffles and maps of size[i, j]: columns add up to the metrics.
        offered = sum(shuffle.sizes.sum(axis=0, dtype=np.float64) for shuffle in shuffles)
        factor = np.divide(measured, offered, out=np.zeros_like(measured), where=np.asarray(offered) > 0)
        for shuffle in shuffles:
            yield ShuffleTraffic(
                source=job.start.ordinal(shuffle.source),
                target=job.start.ordinal(target),
                bytes=shuffle.sizes * factor[0],
                rows=shuffle.sizes * factor[1],
            )


def executor_bytes(job: Job) -> dict[tuple[str, str], float]:
    """Bytes that each executor read of what each executor wrote, in all shuffles of a job."""
    names = sorted({task.executor for task in job.tasks})
    index = {name: number for number, name in enumerate(names)}
    total = np.zeros((len(names), len(names)))
    for each in shuffle_traffic(job):
        writers, readers = job.stage(each.source), job.stage(each.target)
        # Rows by the executor that wrote them, then columns by the one that read them.
        written = np.zeros((len(names), each.bytes.shape[1]))
        np.add.at(written, [index[task.executor] for task in writers], each.bytes[[task.partition for task in writers]])
        columns = written[:, [task.partition for task in readers]].T
        np.add.at(total.T, [index[task.executor] for task in readers], columns)
    return {(names[i], names[j]): float(total[i, j]) for i, j in zip(*total.nonzero(), strict=True)}


def _measured(job: Job, stage: int, width: int) -> NDArray[np.float64] | None:
    """float64 (2, width): bytes and rows that each task of a stage read; None if tasks and partitions differ."""
    tasks = [task for task in job.tasks if task.stage == stage]
    if sorted(task.partition for task in tasks) != list(range(width)):
        return None
    return np.array([(task.local + task.remote, task.read) for task in tasks], dtype=np.float64).T

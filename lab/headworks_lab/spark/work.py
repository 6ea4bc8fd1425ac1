"""The work of the tasks of an experiment's query: they use processor time for each row and emit rows of random bytes.

Runs in Spark's Python workers, which import this module and what it imports.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import attrs
import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

SCHEMA = "key string, payload binary"
"""Columns of a row: the text whose hash is its partition in the next stage, and bytes that do not compress."""


@attrs.frozen(kw_only=True)
class Output:
    """One stream that a component emits.

    Attributes:
        keys: The key of each task that receives it.
        every: Whether each of them gets each row; else they take turns.
        rows: Rows for each one that the component takes.
        size: Bytes of a row.
    """

    keys: tuple[str, ...]
    every: bool
    rows: float
    size: int


@attrs.frozen(kw_only=True)
class Part:
    """The tasks of one component, neighbours among the partitions of their stage.

    Attributes:
        tasks: Their number.
        seconds: Processor time for a row.
        rows: Rows that a task of a spout emits in a batch; 0 of a bolt.
        outputs: Its streams.
    """

    tasks: int
    seconds: float
    rows: float
    outputs: tuple[Output, ...]


def part_of(parts: Sequence[Part], index: int) -> Part:
    """The part that a partition of a stage belongs to.

    Args:
        parts: Of the stage, in order.
        index: The partition.
    """
    for part in parts:
        if index < part.tasks:
            return part
        index -= part.tasks
    raise IndexError(index)


def emit(parts: Sequence[Part], ticks: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Turn ticks into the rows of spouts: of T tasks, the tick v is that of task v % T in batch v // T.

    Args:
        parts: Of the first stage.
        ticks: Record batches with a column `value`, int64.
    """
    tasks = sum(part.tasks for part in parts)
    for tick in (tick for batch in ticks for tick in batch.column("value").to_pylist()):
        number, index = divmod(tick, tasks)
        part = part_of(parts, index)
        count = int((number + 1) * part.rows) - int(number * part.rows)
        yield from _done(part, count, taken=int(number * part.rows), turn=index)


def work(parts: Sequence[Part], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Take the rows of this worker's partition, and emit those of the bolt that has it.

    Args:
        parts: Of the stage.
        batches: Record batches with the columns of `SCHEMA`.
    """
    from pyspark import TaskContext  # a worker's, which has it already

    context = TaskContext.get()
    assert context is not None
    yield from worked(parts, context.partitionId(), batches)


def worked(parts: Sequence[Part], index: int, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Take the rows of a partition, and emit those of the bolt that has it.

    Args:
        parts: Of the stage.
        index: The partition.
        batches: Record batches.
    """
    part, taken = part_of(parts, index), 0
    for batch in batches:
        yield from _done(part, batch.num_rows, taken=taken, turn=index)
        taken += batch.num_rows


def _done(part: Part, count: int, *, taken: int, turn: int) -> Iterator[pa.RecordBatch]:
    """Use the processor time of so many rows, and emit theirs."""
    burn(count * part.seconds)
    for output in part.outputs:
        emitted = int(taken * output.rows)
        rows = int((taken + count) * output.rows) - emitted
        if rows:
            yield _rows(output, rows, turn + emitted)


def burn(seconds: float) -> None:
    """Use so much processor time of this thread, however long that takes.

    Args:
        seconds: Of processor time.
    """
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def _rows(output: Output, count: int, turn: int) -> pa.RecordBatch:
    tasks = len(output.keys)
    to = np.tile(np.arange(tasks), count) if output.every else (np.arange(count) + turn) % tasks
    keys = pa.array(output.keys, pa.string()).take(pa.array(to))
    return pa.record_batch([keys, payloads(len(to), output.size)], names=["key", "payload"])


def payloads(count: int, size: int) -> pa.BinaryArray:
    """So many payloads of random bytes, which no codec makes smaller.

    Args:
        count: Number of payloads.
        size: Bytes of each.
    """
    offsets: NDArray[np.int32] = np.arange(count + 1, dtype=np.int32) * np.int32(size)
    data = np.random.default_rng().bytes(count * size)
    return pa.Array.from_buffers(pa.binary(), count, [None, pa.py_buffer(offsets), pa.py_buffer(data)])

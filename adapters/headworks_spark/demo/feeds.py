"""The feeds as Arrow files: written once by the driver, read by Spark's Python workers."""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyarrow import compute

from headworks_spark.demo.dataset import DAYS, FEEDS, feeds_by_carrier, flights

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

COLUMNS = ["dest", "day", "arr_delay"]
"""Columns of a flight, as the query has them."""
SCHEMA = "dest string, day long, arr_delay double"
"""The same for Spark; `day` counts on from year to year."""


def prepare(folder: Path) -> None:
    """Write each feed as one Arrow file with one record batch a day. Every node has to reach the folder."""
    table = flights()
    feed_of = feeds_by_carrier(Counter(table["carrier"].to_pylist()))
    feeds = pa.array([feed_of[carrier] for carrier in table["carrier"].to_pylist()], pa.int8())
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(FEEDS):
        _write(_file(folder, number), table.filter(compute.equal(feeds, number)))


def _write(file: Path, table: pa.Table) -> None:
    """One batch a day, empty where nothing flies, so that batch d is always day d."""
    ends = np.searchsorted(table["day"].to_numpy(), range(DAYS + 1)).tolist()
    rows = table.select(["dest", "arr_delay"])
    with pa.ipc.new_file(str(file), rows.schema) as writer:
        for start, stop in itertools.pairwise(ends):
            writer.write_batch(_one_batch(rows.slice(start, stop - start)))


def _one_batch(table: pa.Table) -> pa.RecordBatch:
    columns = [column.combine_chunks() for column in table.columns]
    return pa.record_batch(columns, schema=table.schema)


def _file(folder: Path, feed: int) -> Path:
    return folder / f"feed-{feed:02d}.arrow"


@functools.cache
def _reader(path: str) -> pa.RecordBatchFileReader:
    """One open file a Python worker: workers are reused from batch to batch."""
    return pa.ipc.open_file(pa.memory_map(path))


def emit(folder: str, ticks: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Turn ticks into flights: value v asks feed v % 12 for day v // 12. Runs in Spark's Python workers.

    Args:
        folder: Folder that `prepare` wrote; a text, for it is sent to the workers.
        ticks: Record batches with a column `value`, int64.
    """
    for batch in ticks:
        days = [_day(folder, value) for value in batch.column("value").to_pylist()]
        # One large batch instead of many small ones: each costs a turn between Python and the JVM.
        yield from pa.Table.from_batches(days).combine_chunks().to_batches()


def _day(folder: str, value: int) -> pa.RecordBatch:
    day, feed = divmod(value, FEEDS)
    rows = _reader(str(_file(Path(folder), feed))).get_batch(day % DAYS)
    days = pa.array([day] * len(rows), pa.int64())
    return pa.record_batch([rows.column("dest"), days, rows.column("arr_delay")], names=COLUMNS)

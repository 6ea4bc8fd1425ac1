"""Nexmark's events as rows of Spark: one column with a structure for each kind, of which one is not null.

Runs in Spark's Python workers, which import this module and what it imports.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from headworks_lab.nexmark import EventKind, kinds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from headworks_lab.nexmark import Columns, Nexmark

SCHEMA = (
    "kind int, time timestamp, "
    "person struct<id: long, name: string, city: string, state: string>, "
    "auction struct<id: long, seller: long, category: long, initial_bid: long, reserve: long, expires: timestamp>, "
    "bid struct<auction: long, bidder: long, price: long>"
)
"""Columns of an event: its kind as `EventKind`, event time, and what is known of it by its kind."""
TIME = pa.timestamp("us", tz="UTC")


def batch(nexmark: Nexmark, first: int, stop: int) -> pa.RecordBatch:
    """Events by number, with the columns of `SCHEMA`.

    Args:
        nexmark: The generator.
        first: Number of the first event.
        stop: Number after that of the last.
    """
    numbers = np.arange(first, stop)
    kind = kinds(numbers)
    makers = {"person": nexmark.persons, "auction": nexmark.auctions, "bid": nexmark.bids}
    parts = [
        _part(make(numbers[kind == each]), kind == each) for each, make in zip(EventKind, makers.values(), strict=True)
    ]
    columns = [pa.array(kind, pa.int32()), _time(pa.array(nexmark.times(numbers))), *parts]
    return pa.record_batch(columns, names=["kind", "time", *makers])


def _part(columns: Columns, mine: NDArray[np.bool_]) -> pa.StructArray:
    """A structure for each event, null where it is of another kind."""
    fields = {name: pa.array(each) for name, each in columns.items() if name != "time"}
    if "expires" in fields:
        fields["expires"] = _time(fields["expires"])
    rows = pa.StructArray.from_arrays(list(fields.values()), names=list(fields))
    return rows.take(pa.array(np.cumsum(mine) - 1, mask=~mine))


def _time(milliseconds: pa.Int64Array) -> pa.TimestampArray:
    return milliseconds.cast(pa.timestamp("ms", tz="UTC")).cast(TIME)


def emit(nexmark: Nexmark, rows: float, tasks: int, ticks: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Turn ticks into events: of T tasks, the tick v is for task v % T's part of the rows of micro-batch v // T.

    Args:
        nexmark: The generator.
        rows: Events of a micro-batch, all tasks together; a fraction is made up for by later ones.
        tasks: Their number.
        ticks: Record batches with a column `value`, int64.
    """
    for tick in (tick for each in ticks for tick in each.column("value").to_pylist()):
        number, index = divmod(tick, tasks)
        first, stop = int(number * rows), int((number + 1) * rows)
        yield batch(nexmark, *(first + (stop - first) * each // tasks for each in (index, index + 1)))

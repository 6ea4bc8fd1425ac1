"""Rows that arrive in every way: dealt out to other files, saying two things, with a clock between two hours."""

from __future__ import annotations

import shutil
from datetime import timedelta

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from headworks.samples.store import arrow_schema
from pipeline_samples import FIRST, START, dirty, task_row, write

UNREADABLE = ("half.parquet", "future.parquet", "text.parquet")


def arrivals(folder):
    """Everything that goes wrong, a sample that says two things, and a clock that jumps from one hour to the next."""
    dirty(folder)
    write(folder / FIRST / "one.parquet", [task_row(300, cpu=14.0), task_row(301, cpu=16.0)])
    write(folder / FIRST / "two.parquet", [task_row(301, cpu=15.0), task_row(300, cpu=15.5)])
    clock = {"origin": "hasty"}
    write(folder / FIRST / "clock.parquet", [task_row(number, **clock) for number in range(350, 355)])
    end = START + timedelta(seconds=3700)
    ahead = task_row(349, **clock, end=end, start=end - timedelta(seconds=10))
    write(folder / "day=2026-01-05/hour=01" / "clock.parquet", [ahead])
    return folder


def deal(hour, other, whole=()):
    """Rows of an hour, dealt out to five files at random; files that cannot be read, and `whole` ones, as they are."""
    other.mkdir(parents=True)
    rng, schema, same = np.random.default_rng(3), arrow_schema(), (*UNREADABLE, *whole)
    files = [each for each in hour.glob("[!.]*.parquet") if each.name not in same]
    tables = [parquet.read_table(each, partitioning=None) for each in files]
    together = pa.concat_tables(tables, promote_options="default").select(schema.names).cast(schema)
    hand = rng.integers(5, size=len(together))
    for number in range(5):
        part = together.take(rng.permutation(np.flatnonzero(hand == number)))
        parquet.write_table(part, other / f"dealt-{number}.parquet", row_group_size=100)
    for name in same:
        if (hour / name).exists():
            shutil.copy(hour / name, other / name)

"""Folders of raw samples with everything in them that goes wrong, for tests of the pipeline."""

from __future__ import annotations

import shutil
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from headworks.samples.rows import COLUMNS, VERSION
from headworks.samples.store import MARK, arrow_schema
from headworks_pipeline.synthetic import START, Plant
from headworks_pipeline.tables.histogram import NOTHING

if TYPE_CHECKING:
    from pathlib import Path

PLANT = Plant(tasks=2, nodes=2)
WINDOWS = 450
"""An hour, and a quarter of the next."""
FIRST = "day=2026-01-05/hour=00"
BAD = {
    "clock": 4,
    "columns of another type": 1,
    "half-written file": 1,
    "incomplete": 2,
    "negative amount": 1,
    "not a number": 2,
    "unknown kind": 1,
    "unknown schema version": 1 + 4,
    "unknown task": 3,
}
"""Rows of `dirty` by the reason why they are not used; `duplicate` comes to that."""
DUPLICATES = 25
WILD = 2
"""Sound rows with three times the CPU that they should have: the only outliers of all profiles."""


def levels(amounts: Any, steps: int) -> Any:
    """The level of each amount, as the tables have it."""
    with np.errstate(divide="ignore"):
        return np.where(amounts > 0, np.floor(steps * np.log2(amounts) + 0.5), NOTHING).astype(np.int64)


def task_row(number: int, **more: Any) -> dict[str, Any]:
    """A sound sample of `plant/parse/0`, by a monitor of its own."""
    end = START + timedelta(seconds=10.0 * number + 5)
    plain = {
        "version": VERSION,
        "kind": "task",
        "engine": "sim",
        "origin": "odd",
        "number": number,
        "start": end - timedelta(seconds=10),
        "end": end,
        "topology": "plant",
        "component": "parse",
        "role": "bolt",
        "task": "plant/parse/0",
        "node": "node-0",
        "port": 6700,
        "machine_type": "big",
        "cpu": 0.01 * 1000 + 5,
        "received": 1000.0,
        "emitted": 2000.0,
        "source": "thread",
    }
    return plain | more


def bad_rows() -> list[dict[str, Any]]:
    """One row for each thing that can be wrong with one, four for the clock."""
    flow = {"kind": "flow", "target": "plant/count/0", "target_component": "count", "tuples": 1.0}
    at = task_row(100)["end"]
    return [
        task_row(1, cpu=float("nan")),
        task_row(2, received=float("inf")),
        task_row(3, cpu=-1.0),
        task_row(4, kind="worker"),
        task_row(5, version=7),
        task_row(6, task=None),
        task_row(7, origin=None),
        task_row(8, component=None),
        task_row(9, task="plant/parse/9"),
        task_row(10, **flow | {"target": "plant/count/9"}),
        task_row(11, start=task_row(11)["end"]),
        task_row(12, end=START + timedelta(hours=2), start=START + timedelta(hours=1, seconds=3599)),
        task_row(99),
        task_row(100),
        task_row(101, end=at - timedelta(seconds=60), start=at - timedelta(seconds=70)),
        task_row(102),
        task_row(110, start=task_row(110)["end"] - timedelta(seconds=3601)),
        task_row(111, start=task_row(111)["end"] - timedelta(seconds=3600)),
    ]


def write(file: Path, rows: list[dict[str, Any]], schema: pa.Schema | None = None) -> None:
    """A file of rows, whatever is in them."""
    file.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pa.Table.from_pylist(rows, schema or arrow_schema()), file)


def dirty(folder: Path) -> int:
    """Sound samples, and every kind of bad ones among them; the number of sound rows."""
    sound = PLANT.write(folder, windows=WINDOWS)
    whole = folder / FIRST / "samples-0-00000000.parquet"
    parquet.write_table(
        parquet.read_table(whole, partitioning=None).slice(1000, DUPLICATES), whole.with_name("again.parquet")
    )
    write(folder / FIRST / "bad.parquet", bad_rows())
    (folder / FIRST / "half.parquet").write_bytes(whole.read_bytes()[:5000])
    shutil.copy(whole, folder / FIRST / ".samples-draft.parquet.123")
    future = arrow_schema().with_metadata({MARK: str(VERSION + 1).encode()})
    write(folder / FIRST / "future.parquet", [task_row(number) for number in range(200, 204)], future)
    text = pa.schema([pa.field(name, pa.string()) if name == "cpu" else arrow_schema().field(name) for name in COLUMNS])
    write(folder / FIRST / "text.parquet", [task_row(210, cpu="12")], text.with_metadata(arrow_schema().metadata))
    short = [name for name in COLUMNS if name not in {"latency", "queue", "offered"}]
    few = pa.schema([arrow_schema().field(name) for name in short]).with_metadata(arrow_schema().metadata)
    even = {"kind": "stream", "task": "plant/parse", "target": "plant/count", "target_component": "count"}
    rows = [*(task_row(number) for number in range(220, 230)), task_row(230, **even, tuples=3.0)]
    write(folder / FIRST / "older.parquet", rows, few)
    write(folder / FIRST / "wild.parquet", [task_row(number, cpu=45.0) for number in (250, 251)])
    return sound + 4 + 11 + WILD

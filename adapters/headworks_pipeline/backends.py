"""Choice of the engine that reads rows: DuckDB in this process, or Spark."""

from __future__ import annotations

import contextlib
import importlib.util
import os
from typing import TYPE_CHECKING, Any

from headworks_pipeline.session import LOCAL, SHORT, SUBMITTED, SessionConfig, session
from headworks_pipeline.tables.on_duckdb import duckdb_backend
from headworks_pipeline.tables.on_spark import OnSpark

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from headworks_pipeline.tables.job import Backend, Work

MOST = 200_000_000
"""Rows beyond which Spark is chosen."""


def choose(work: Work, asked: str, master: str | None) -> str:
    """Name of the engine.

    Args:
        work: What there is to do.
        asked: `auto`, `duckdb` or `spark`.
        master: Spark's master, None if none was named.
    """
    if asked != "auto":
        return asked
    spark = master is not None or SUBMITTED in os.environ or work.rows > MOST
    return "spark" if spark or importlib.util.find_spec("duckdb") is None else "duckdb"


@contextlib.contextmanager
def opened(name: str, rows: int, place: Mapping[str, Any], output: Path) -> Iterator[Backend]:
    """An engine; it ends with the block.

    Args:
        name: `duckdb` or `spark`.
        rows: Rows to read.
        place: Master and memory, as `SessionConfig` takes them.
        output: Folder of results, for the log of Spark.

    Raises:
        EngineError: The engine is missing or cannot be reached.
    """
    if name == "duckdb":
        with duckdb_backend(place["driver_memory"]) as base:
            yield base
    else:
        config = SessionConfig(**{**place, "master": place["master"] or LOCAL}, quick=rows <= SHORT)
        with session(config, output) as spark:
            yield OnSpark(spark)

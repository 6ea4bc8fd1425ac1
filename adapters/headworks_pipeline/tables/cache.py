"""Rows that several tables are made of: kept in memory where there are few, in a file where there are many; named."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from headworks_pipeline.places import remove

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame

    from headworks_pipeline.places import Place


@contextlib.contextmanager
def in_memory(rows: DataFrame) -> Iterator[DataFrame]:
    """These rows, computed at their first use."""
    rows.persist()
    try:
        yield rows
    finally:
        with contextlib.suppress(Exception):  # a run that is cut off; its JVM may be gone
            rows.unpersist()


@contextlib.contextmanager
def in_file(rows: DataFrame, folder: Place) -> Iterator[DataFrame]:
    """These rows, computed now and written to a folder that goes with the block.

    A table reads from there only the columns that it needs; in memory, to build all columns of millions of rows costs
    several times as much as to write them.

    Args:
        rows: The rows.
        folder: Path at which nothing is yet.
    """
    try:
        rows.write.parquet(str(folder))
        # The schema is given: to infer it would be a job that reads footers.
        yield rows.sparkSession.read.schema(rows.schema).parquet(str(folder))
    finally:
        remove(folder)


@contextlib.contextmanager
def named(rows: DataFrame, name: str) -> Iterator[str]:
    """A name of these rows in SQL, which goes with the block.

    PySpark has a way of its own, `spark.sql("select ... from {rows}", rows=rows)`. It drops its name after the query,
    and Spark then drops what is in memory of these rows.

    Args:
        rows: The rows.
        name: A name that no others have meanwhile.
    """
    rows.createOrReplaceTempView(name)
    try:
        yield name
    finally:
        with contextlib.suppress(Exception):  # a run that is cut off; its JVM may be gone
            rows.sparkSession.catalog.dropTempView(name)

"""Files of raw samples as one DataFrame, whatever the version of their columns."""

from __future__ import annotations

import re
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

from headworks.samples.rows import COLUMNS, VERSION
from headworks_pipeline.intake.columns import PLACE, SPARK_TYPES
from headworks_pipeline.intake.files import OLDEST
from headworks_pipeline.intake.version1 import present_columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from headworks_pipeline.intake.files import SampleFile

SCHEMA = ", ".join(f"`{name}` {SPARK_TYPES[kind]}" for name, kind in COLUMNS.items())
"""The columns of the present version as Spark writes a schema; those that a file lacks are null."""
PATTERN = re.compile(r"[][{}*?\\]")
"""Characters that make a pattern of a path, for Spark, unless there is a backslash before them."""
FIRST_SCHEMA = (
    "version int, kind string, topology string, supervisor string, host string, port int, started bigint, "
    "number bigint, time timestamp, `window` double, task bigint, name string, target bigint, target_name string, "
    "cpu double, heap double, queue bigint, received bigint, emitted bigint, acked bigint, failed bigint, "
    "latencies bigint, latency bigint, tuples bigint, bytes bigint"
)
"""The columns of version 1."""


def read_rows(spark: SparkSession, files: Sequence[SampleFile], *, whole: bool = False) -> DataFrame:
    """The rows of some files, in the columns of the present version, with `PLACE`.

    Args:
        spark: Session.
        files: Those to read; files that carry a `reason` are left out.
        whole: True if a file that goes meanwhile is an error, and not passed over.
    """
    good = [each for each in files if not each.reason]
    frames = [
        frame
        for version, read in ((VERSION, _present), (OLDEST, _first))
        if (frame := read(spark, [each.path for each in good if each.version == version], whole=whole)) is not None
    ]
    if not frames:
        return spark.createDataFrame([], SCHEMA + "".join(f", `{name}` {kind}" for name, kind in PLACE))
    return reduce(lambda one, other: one.unionByName(other), frames)


def _present(spark: SparkSession, paths: Sequence[str], *, whole: bool) -> DataFrame | None:
    if not paths:
        return None
    return _placed(spark, SCHEMA, paths, whole=whole)


def _placed(spark: SparkSession, schema: str, paths: Sequence[str], *, whole: bool) -> DataFrame:
    """Day and hour are columns that Spark makes of a file's folder."""
    # All files are named: Spark lists no folder, and an hour that grows meanwhile is read as it was inspected.
    base = str(Path(paths[0]).parents[2])
    reader = spark.read.schema(f"{schema}, day string, hour string").option("basePath", base)
    if whole:
        reader = reader.option("ignoreMissingFiles", "false")
    rows = reader.parquet(*(PATTERN.sub(r"\\\g<0>", path) for path in paths))
    return rows.selectExpr(
        *(f"`{name}`" for name in rows.columns if name not in ("day", "hour")),
        "concat(day, 'T', hour) as hour",
        "24L * unix_date(cast(day as date)) + cast(hour as int) as moment",
        "_metadata.file_name as file",
        "xxhash64(_metadata.file_name, _metadata.row_index) as row",
    )


def _first(spark: SparkSession, paths: Sequence[str], *, whole: bool) -> DataFrame | None:
    """Version 1: sums over the window, one row for each of Storm's tasks and executors."""
    if not paths:
        return None
    return present_columns(_placed(spark, FIRST_SCHEMA, paths, whole=whole))

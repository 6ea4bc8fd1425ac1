"""Files of raw samples as one DataFrame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headworks.samples.rows import COLUMNS
from headworks_pipeline.hadoop import escaped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from headworks_pipeline.intake.files import SampleFile

SPARK_TYPES = {"int32": "int", "int64": "bigint", "double": "double", "string": "string", "timestamp": "timestamp"}
"""Type in Spark SQL for each type of the sample columns."""
PLACE = (("hour", "string"), ("moment", "bigint"), ("file", "string"), ("row", "bigint"))
"""Added to every row: the hour of its folder, that hour counted from 1970, its file's name, encoded as in a URL (Spark
has it so), and a number that no other row of the same hour has."""
SCHEMA = ", ".join(f"`{name}` {SPARK_TYPES[kind]}" for name, kind in COLUMNS.items())
"""The columns as Spark writes a schema; those that a file lacks are null."""


def read_rows(spark: SparkSession, files: Sequence[SampleFile], *, whole: bool = False) -> DataFrame:
    """The rows of some files, with `PLACE`.

    Args:
        spark: Session.
        files: Those to read; files that carry a `reason` are left out.
        whole: True if a file that goes meanwhile is an error, and not passed over.
    """
    paths = [each.path for each in files if not each.reason]
    if not paths:
        return spark.createDataFrame([], SCHEMA + "".join(f", `{name}` {kind}" for name, kind in PLACE))
    # All files are named: Spark lists no folder, and an hour that grows meanwhile is read as it was inspected. Day and
    # hour are columns that Spark makes of a file's folder.
    base = paths[0].rsplit("/", 3)[0]
    reader = spark.read.schema(f"{SCHEMA}, day string, hour string").option("basePath", base)
    if whole:
        reader = reader.option("ignoreMissingFiles", "false")
    rows = reader.parquet(*map(escaped, paths))
    return rows.selectExpr(
        *(f"`{name}`" for name in COLUMNS),
        "concat(day, 'T', hour) as hour",
        "24L * unix_date(cast(day as date)) + cast(hour as int) as moment",
        "_metadata.file_name as file",
        "xxhash64(_metadata.file_name, _metadata.row_index) as row",
    )

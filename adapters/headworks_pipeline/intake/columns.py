"""Columns of raw samples in Spark's types."""

from __future__ import annotations

SPARK_TYPES = {"int32": "int", "int64": "bigint", "double": "double", "string": "string", "timestamp": "timestamp"}
"""Type in Spark SQL for each type of the sample columns."""
PLACE = (("hour", "string"), ("moment", "bigint"), ("file", "string"), ("row", "bigint"))
"""Added to every row: the hour of its folder, that hour counted from 1970, its file's name, encoded as in a URL (Spark
has it so), and a number that no other row of the same hour has."""

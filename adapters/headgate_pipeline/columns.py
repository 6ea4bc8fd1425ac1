"""Columns of raw samples as Spark knows them."""

from __future__ import annotations

SPARK_TYPES = {"int32": "int", "int64": "bigint", "double": "double", "string": "string", "timestamp": "timestamp"}
PLACE = (("hour", "string"), ("file", "string"), ("row", "bigint"))
"""Added to every row: the hour of its folder, its file's name, and a number that no other row of the same hour has."""

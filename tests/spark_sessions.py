"""The end of a session of Spark that a test began."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patience import PATIENCE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def end(spark: SparkSession) -> None:
    """Stop a session, and wait until its JVM has ended."""
    gateway = spark.sparkContext._gateway
    spark.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(timeout=PATIENCE)

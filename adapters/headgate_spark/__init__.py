"""The Spark adapter: watch a PySpark application, place its tasks on executors, and run Spark locally."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headgate_spark.connection import Connection

__all__ = ["connect"]


def connect(spark: SparkSession) -> Connection:
    """Let Headgate listen to an existing session and place its queries; see `headgate_spark.connection.Connection`.

    Raises:
        EngineError: It is a Spark Connect session, or it was stopped.
    """
    from headgate_spark.connection import Connection

    return Connection(spark)

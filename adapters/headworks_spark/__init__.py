"""The Spark adapter: watch a PySpark application, place its tasks on executors, and run Spark locally."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headworks_spark.applications.connection import Connection
    from headworks_spark.driver.session import session

__all__ = ["connect", "session"]


def __getattr__(name: str) -> Any:
    """`session`, imported when it is first used: importing the package imports no Spark."""
    if name != "session":
        raise AttributeError(f"module 'headworks_spark' has no attribute {name!r}")
    # 0.15 s that a list of commands, which imports this package for its own, does not need.
    from headworks_spark.driver.session import session

    return session


def connect(spark: SparkSession) -> Connection:
    """Let Headworks listen to a session, of Spark Connect too, and place its queries; see `Connection`.

    Raises:
        EngineError: It was stopped, or it is of a Connect server that has no jar of Headworks's.
    """
    # 0.5 s that a list of commands, which imports this package for its own, does not need.
    from headworks_spark.applications.connection import Connection

    return Connection(spark)

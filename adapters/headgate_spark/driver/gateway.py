"""The way into the driver JVM of a classic session: the only place that goes behind PySpark's public face."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headgate.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Callable


def scala_context(context: Any) -> Any:
    """The Scala SparkContext behind a Python one.

    Raises:
        EngineError: It was stopped.
    """
    java_context = context._jsc  # noqa: SLF001 - PySpark offers no other way
    if java_context is None:
        raise EngineError("this Spark session was stopped: start one with headgate_spark.session(...)")
    return java_context.sc()


def running_gateway() -> Any:
    """The py4j gateway to this process's driver JVM, None before the first session; sessions share it."""
    from pyspark import SparkContext

    return SparkContext._gateway  # noqa: SLF001 - PySpark offers no other way


def session_runs() -> bool:
    """Whether a session runs in this process; there can be one."""
    from pyspark import SparkContext

    return SparkContext._active_spark_context is not None  # noqa: SLF001 - getOrCreate would start one


def java_rdd(rdd: Any) -> Any:
    """The Scala RDD behind a Python one."""
    return rdd._jrdd.rdd()  # noqa: SLF001 - PySpark offers no other way


def to_rdd(spark: Any, scala_rdd: Any, like: Any) -> Any:
    """A Python RDD over a Scala one, with a serializer or with that of another RDD."""
    from pyspark import RDD

    serializer = getattr(like, "_jrdd_deserializer", like)
    return RDD(scala_rdd.toJavaRDD(), spark.sparkContext, serializer)


def to_dataframe(frame: Any) -> tuple[Any, Callable[[Any], Any]]:
    """The rows of a DataFrame as a Scala RDD, and what makes a DataFrame of an RDD of such rows.

    The RDD is computed by the plan that the DataFrame has now.
    """
    from pyspark.sql import DataFrame

    java, spark = frame._jdf, frame.sparkSession  # noqa: SLF001 - PySpark offers no other way
    session = spark._jsparkSession  # noqa: SLF001 - PySpark offers no other way

    def wrap(rdd: Any) -> Any:
        return DataFrame(session.internalCreateDataFrame(rdd, java.schema(), False), spark)

    return java.queryExecution().toRdd(), wrap


def stream_execution(query: Any) -> Any:
    """The Scala object that runs a streaming query."""
    return query._jsq.streamingQuery()  # noqa: SLF001 - PySpark offers no other way


def state_coordinator(spark: Any) -> Any:
    """What knows on which executor each partition of a streaming query's state is."""
    state = spark._jsparkSession.sessionState()  # noqa: SLF001 - PySpark offers no other way
    return state.streamingQueryManager().stateStoreCoordinator()

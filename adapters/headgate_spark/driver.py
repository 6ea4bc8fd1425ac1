"""The way into the driver JVM of a classic session: the only place that goes behind PySpark's public face."""

from __future__ import annotations

from typing import Any

from headgate.errors import EngineError


def scala_context(context: Any) -> Any:
    """The Scala SparkContext behind a Python one.

    Raises:
        EngineError: It was stopped.
    """
    java_context = context._jsc  # noqa: SLF001 - PySpark offers no other way
    if java_context is None:
        raise EngineError("this Spark session was stopped: start one with headgate_spark.session.session(...)")
    return java_context.sc()


def running_gateway() -> Any:
    """The py4j gateway to this process's driver JVM, None before the first session; sessions share it."""
    from pyspark import SparkContext

    return SparkContext._gateway  # noqa: SLF001 - PySpark offers no other way


def session_runs() -> bool:
    """Whether a session runs in this process; there can be one."""
    from pyspark import SparkContext

    return SparkContext._active_spark_context is not None  # noqa: SLF001 - getOrCreate would start one

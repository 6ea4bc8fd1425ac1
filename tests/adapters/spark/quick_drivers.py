"""An environment in which drivers of plain PySpark start quickly."""

from __future__ import annotations

import os

from headworks_spark.driver.jar import spark_home
from headworks_spark.driver.jvm import jvm_options


def quick_environment() -> dict[str, str]:
    """This environment, with options for the JVM of a driver whose session does not choose its own."""
    return {**os.environ, "PYSPARK_SUBMIT_ARGS": f"--driver-java-options '{jvm_options(spark_home())}' pyspark-shell"}

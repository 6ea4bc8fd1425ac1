"""An environment in which drivers of plain PySpark start quickly."""

from __future__ import annotations

import os

from headworks_local.java import BRIEF


def quick_environment() -> dict[str, str]:
    """This environment, with options for the JVM of a driver whose session does not choose its own."""
    options = f"--driver-java-options '{' '.join(BRIEF)}'"
    return {**os.environ, "PYSPARK_SUBMIT_ARGS": f"{options} pyspark-shell"}

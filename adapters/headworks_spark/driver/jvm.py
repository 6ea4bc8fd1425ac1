"""The JVMs of Spark that Headworks starts on this machine: small, and quick to start by a class data archive."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING

from headworks_local.cds import ClassData
from headworks_local.java import find_java
from headworks_local.lifetime import environment

if TYPE_CHECKING:
    from headworks_spark.driver.jar import SparkHome

SMALL = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
"""One collector thread and the quick compiler alone: every node of a local cluster shares this machine's few cores."""
SECONDS = 600.0
"""Time limit of the training run: if smaller, a slow machine gets no archive; if larger, one that hangs is waited
for."""
APPLICATION = """
import sys
from pyspark.sql import SparkSession

builder = SparkSession.builder.master("local[2]").config("spark.driver.extraJavaOptions", sys.argv[1])
for key, value in {"ui.enabled": "false", "driver.bindAddress": "127.0.0.1", "sql.shuffle.partitions": "2"}.items():
    builder = builder.config(f"spark.{key}", value)
spark = builder.getOrCreate()
spark.sparkContext.setLogLevel("OFF")
spark.sparkContext.parallelize(range(10), 2).map(lambda each: (each % 2, each)).reduceByKey(max).collect()
spark.range(1000).selectExpr("id % 7 as k", "cast(id as string) as v").write.parquet(f"{sys.argv[2]}/table")
table = spark.read.parquet(f"{sys.argv[2]}/table")
table.join(table.groupBy("k").count(), "k").orderBy("v").collect()
rates = spark.readStream.format("rate").option("rowsPerSecond", 100).load()
writer = rates.groupBy(rates.value % 5).count().writeStream.format("noop").outputMode("update")
query = writer.option("checkpointLocation", f"{sys.argv[2]}/checkpoint").start()
query.processAllAvailable()
query.stop()
gateway = spark.sparkContext._gateway
spark.stop()
gateway.shutdown()
gateway.proc.stdin.close()
sys.exit(gateway.proc.wait())
"""
"""Loads what drivers, executors and daemons load: RDDs, Python workers, tables, a shuffle, a stream with state."""


def jvm_options(home: SparkHome) -> str:
    """Options of a JVM that runs Spark.

    Raises:
        EngineError: There is no Java.
    """
    return " ".join((*SMALL, *_class_data(home).options()))


def make_class_data(home: SparkHome) -> bool:
    """Make the archive for this Spark and its Java if it is not there; it takes the time of two sessions.

    Returns:
        True if the archive is there now, False if none could be made: everything goes on without it.

    Raises:
        EngineError: There is no Java.
    """
    return _class_data(home).make(lambda options: _train(home, options))


def _class_data(home: SparkHome) -> ClassData:
    return ClassData.of(find_java(home.java).program, home.path / "jars")


def _train(home: SparkHome, options: tuple[str, ...]) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", APPLICATION, " ".join((*SMALL, *options)), folder]
        # Settings of the caller are meant for another cluster, and would put other classes into the archive.
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "PYSPARK_"))}
        own = {"SPARK_HOME": str(home.path), "SPARK_CONF_DIR": f"{folder}/none", "PYSPARK_PYTHON": sys.executable}
        env = kept | own | environment()
        try:
            done = subprocess.run(command, env=env, cwd=folder, capture_output=True, timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == 0

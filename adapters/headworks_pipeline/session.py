"""The Spark session of the jobs: embedded in this process, or the driver of a cluster."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING, Any

import attrs

from headworks.errors import EngineError, OptionError, how_to_install
from headworks.interrupts import handled, reinstall
from headworks_local.java import find_java
from headworks_local.lifetime import bound
from headworks_local.process import output_to

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

LOCAL = "local[*]"
"""Master of an embedded session: all cores of this machine, in the driver's JVM."""
SERIAL = "-XX:+UseSerialGC"
"""One collector thread: the heaps are small, and others use the cores."""
QUICK = "-XX:TieredStopAtLevel=1"
"""The JVM compiles once and simply: a short job ends before the good compiler has paid."""


SUBMITTED = "PYSPARK_GATEWAY_PORT"
"""Variable that `spark-submit` sets: its JVM runs already, and master, memory and log are its own."""
SQL = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.files.ignoreCorruptFiles": "true",
    "spark.sql.files.ignoreMissingFiles": "true",
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "10000",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.ansi.enabled": "false",
    "spark.sql.streaming.stopTimeout": "20s",
}
"""Settings that the answers, or the reading of damaged files, depend on."""
SHORT = 2_000_000
"""Rows of a job that ends before the JVM's better compiler has paid."""


@attrs.frozen(kw_only=True)
class SessionConfig:
    """Master and memory of a session.

    Attributes:
        master: `local[*]`, or `spark://HOST:PORT` of a cluster that reads the same folders.
        driver_memory: Heap of the driver, or of all if Spark is embedded.
        executor_memory: Heap of each executor of a cluster.
        quick: True for a short job, whose JVM compiles simply.
        packages: Maven coordinates of jars that the session needs, with commas between them.
        conf: Settings of Spark's as KEY=VALUE; they win over those of the jobs.
    """

    master: str = LOCAL
    driver_memory: str = "1g"
    executor_memory: str = "1g"
    quick: bool = False
    packages: str = ""
    conf: tuple[str, ...] = ()


@contextlib.contextmanager
def session(config: SessionConfig, folder: Path) -> Iterator[SparkSession]:
    """A session with the settings of the jobs; it ends with the block.

    Args:
        config: Master and memory.
        folder: Folder for `spark.log`, which takes all that Spark's JVM prints.

    Raises:
        EngineError: PySpark or Java is missing, or the master cannot be reached.
    """
    builder, log = _builder(config), _log_file(folder)
    # Signals become exceptions, which end the session in order; a JVM that starts here has the reaper's mark.
    with handled():
        try:
            with output_to(log), bound():
                spark = builder.getOrCreate()
        except Exception as error:  # noqa: BLE001 - py4j and PySpark raise a dozen kinds
            said = " ".join(str(error).splitlines()[:2])
            message = f"no Spark session on {config.master}: {said} ({log} has what Spark printed)"
            raise EngineError(message) from None
        reinstall()
        try:
            yield spark
        except KeyboardInterrupt:
            with contextlib.suppress(Exception):  # a JVM that was ended as well
                spark.sparkContext.setLogLevel("OFF")
            raise
        finally:
            with contextlib.suppress(Exception):
                spark.stop()


def _builder(config: SessionConfig) -> Any:
    try:
        # PySpark is optional: where it is missing, the error says how to install it.
        from pyspark.sql import SparkSession
    except ImportError:
        raise EngineError(f"PySpark is not installed: {how_to_install('spark')}") from None
    find_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if _is_here(config.master) and SUBMITTED not in os.environ:
        # Else Spark looks up this machine's own name, which may be slow, or another machine's.
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.appName("headworks pipeline")
    for key, value in settings(config).items():
        builder = builder.config(key, value)
    return builder


def _log_file(folder: Path) -> Path:
    log = folder / "spark.log"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        log.touch()
    except OSError as error:
        raise EngineError(f"{log} cannot be written: {error.strerror}") from None
    return log


def settings(config: SessionConfig) -> dict[str, str]:
    """Settings of a session.

    Few partitions, because samples shrink at the first step. A file that cannot be read to its end is not fatal. The
    driver lists files itself: their paths are known, and a job that looks for them costs more.
    """
    given = dict(_setting(each) for each in config.conf)
    if config.packages:
        given["spark.jars.packages"] = config.packages
    if SUBMITTED in os.environ:
        return SQL | given
    options = " ".join((SERIAL, *((QUICK,) if config.quick else ())))
    own = {
        "spark.master": config.master,
        "spark.driver.memory": config.driver_memory,
        "spark.executor.memory": config.executor_memory,
        "spark.driver.extraJavaOptions": options,
        "spark.log.level": "FATAL",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        **SQL,
    }
    if _is_here(config.master):
        loopback = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
        own |= loopback | {"spark.executor.extraJavaOptions": options}  # they share this machine's cores
    return own | given


def _setting(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not (key.strip() and equals):
        raise OptionError("", f"{text!r} is not a setting of Spark's: KEY=VALUE, such as spark.executor.cores=2")
    return key.strip(), value


def _is_here(master: str) -> bool:
    return master.startswith("local") or "//127." in master

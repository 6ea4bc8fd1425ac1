"""An application of Spark Connect, run in this process: a Python file, or the project of a declarative pipeline."""

from __future__ import annotations

import contextlib
import os
import re
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headworks.errors import EngineError, OptionError
from headworks_spark.applications.script import run_script, shown
from headworks_spark.driver.session import ANSWER

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SCHEME = "sc://"
"""Begin of the addresses of Connect servers."""
PIPELINES = (".yml", ".yaml")
"""Ends of the files that describe a project of `spark-pipelines`."""
PORT = 15002
"""Port of a Connect server whose address has none."""
REMOTE = "SPARK_REMOTE"
"""Variable by which PySpark makes a session of Connect."""


@contextlib.contextmanager
def connected(address: str, launch: Sequence[str]) -> Iterator[Any]:
    """Yield a session of a Connect server, which is the one of the program that runs in the block.

    Args:
        address: `sc://HOST:PORT`, with a token as PySpark takes it.
        launch: Options of spark-submit, of which a running server takes none.

    Raises:
        EngineError: No server answers there, the address is none, or PySpark lacks what Connect needs.
        OptionError: There are such options.
    """
    if launch:
        raise OptionError(
            f"{launch[0]} is for a session that is started, and {SCHEME} is a server that runs: leave it out"
        )
    _refuse_silence(address)
    before = os.environ.get(REMOTE)
    os.environ[REMOTE] = address
    try:
        yield _session(address)
    finally:
        os.environ.pop(REMOTE)
        if before is not None:
            os.environ[REMOTE] = before


def _session(address: str) -> Any:
    try:
        # PySpark is optional and costs 0.3 s: a list of plugins imports this module, and asks for no session.
        from pyspark.errors import PySparkValueError
        from pyspark.sql import SparkSession

        try:
            return SparkSession.builder.remote(address).getOrCreate()
        except PySparkValueError as error:
            raise EngineError(
                f"{address.partition('/;')[0]!r} is refused as the address of a server: {error}"
            ) from None
    except ImportError as error:
        raise EngineError(
            f"a client of Connect needs more of PySpark ({error}): pip install 'pyspark[connect]'"
        ) from None


def _refuse_silence(address: str) -> None:
    """Refuse a server that does not answer: Connect tries for ten minutes."""
    found = re.match(rf"{SCHEME}(\[[^\]]+\]|[^:/;]+)(?::(\d+))?", address)
    if found is None:
        told = address.partition(";")[0]  # without a token
        raise EngineError(f"{told!r} is no address of a Connect server, such as {SCHEME}HOST:{PORT}")
    host, port = found[1].strip("[]"), int(found[2] or PORT)
    try:
        socket.create_connection((host, port), ANSWER).close()
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or error
        raise EngineError(f"no Connect server answers at {host}:{port} ({why}): start it, or look at its log") from None


def run_connected(application: Sequence[str]) -> int:
    """Run a file of Connect to its end.

    Args:
        application: A Python file and its arguments, or the file of a project of `spark-pipelines`.

    Returns:
        Its exit code.

    Raises:
        EngineError: PySpark lacks what pipelines need, or the pipeline fails.
        OptionError: The file describes no project.
    """
    if not application[0].endswith(PIPELINES):
        return run_script(application)
    try:
        # Spark 4.1 and its packages for Connect, which other applications need not have.
        from pyspark.pipelines.cli import load_pipeline_spec, run
    except ImportError as error:
        raise EngineError(
            f"{application[0]} needs pipelines of Spark 4.1 ({error}): pip install 'pyspark[pipelines]'"
        ) from None
    # pyspark costs 0.3 s, which the list of commands does not need.
    from pyspark.errors import PySparkException

    project = Path(application[0]).resolve()  # Spark 4.1 looks for its files in vain where the path is relative
    try:
        load_pipeline_spec(project)
    except Exception as error:  # noqa: BLE001 - a YAML file can be anything
        why = f"{type(error).__name__}: {error}"
        raise OptionError(f"{project} does not describe a project of spark-pipelines ({why})") from None
    try:
        run(project, full_refresh=[], full_refresh_all=False, refresh=[], dry=False)
    except PySparkException as error:
        raise EngineError(f"{project} ended with an error: {error}") from error
    except Exception as error:  # noqa: BLE001 - of the files of the project
        return shown(error, lambda file: Path(file).is_relative_to(project.parent))
    return 0

"""The way into the driver JVM of a classic session: the only place that goes behind PySpark's public face."""

from __future__ import annotations

import contextlib
import logging
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

from headworks.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LOG = logging.getLogger("headworks.spark")
PATIENCE = 30.0
"""Seconds that a driver's JVM may take to end by itself."""

UNSENT = "Exception while sending command."
"""How py4j's record begins of a call that did not reach the JVM; it is logged at the root."""
RAISED = frozenset({UNSENT, "KeyboardInterrupt while sending command."})
"""Records, with a traceback, of what is raised as well."""
UNCLOSED = "Exception occurred while shutting down connection"
"""Record of a connection that had a call cut off by Ctrl-C, and cannot be closed in order."""


def scala_context(context: Any) -> Any:
    """The Scala SparkContext behind a Python one.

    Raises:
        EngineError: It was stopped.
    """
    java_context = context._jsc  # noqa: SLF001 - PySpark offers no other way
    if java_context is None:
        raise EngineError("this Spark session was stopped: start one with headworks_spark.session(...)")
    return java_context.sc()


def running_gateway() -> Any:
    """The py4j gateway to this process's driver JVM, None before the first session; sessions share it."""
    # PySpark is optional and costs 0.3 s: a list of plugins imports this module, and asks for no session.
    from pyspark import SparkContext

    return SparkContext._gateway  # noqa: SLF001 - PySpark offers no other way


@contextlib.contextmanager
def own_jvm() -> Iterator[None]:
    """End the driver JVM that is started in the block, with its end; one that was there before lives on.

    PySpark keeps the JVM of a session that was stopped for the next session, until the process ends.
    """
    before, root, client = running_gateway(), logging.getLogger(), logging.getLogger("py4j.clientserver")
    root.addFilter(_is_not_raised)
    client.addFilter(_is_not_unclosed)
    root.addFilter(_is_not_of_a_finalizer)  # stays: its thread may be a while behind the end of its JVM
    try:
        yield
    finally:
        gateway = running_gateway()
        # Under spark-submit the JVM is the parent, and none of our own.
        if gateway is not None and gateway is not before and gateway.proc is not None:
            _end_jvm(gateway)
        root.removeFilter(_is_not_raised)
        client.removeFilter(_is_not_unclosed)


@contextlib.contextmanager
def own_handler() -> Iterator[None]:
    """Keep a handler of Ctrl-C that is there: a session that starts sets its own, which calls the JVM in a call."""
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        usual = before in (signal.SIG_DFL, signal.default_int_handler, None)
        if not usual and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def completing(complete: Callable[[Any], object]) -> Iterator[None]:
    """Complete the settings of each session that this process starts in the block: in its JVM, on no command line.

    Args:
        complete: Is given a SparkConf of the JVM.
    """
    # PySpark is optional and costs 0.3 s: a list of plugins imports this module, and asks for no session.
    from pyspark import SparkContext

    kind: Any = SparkContext
    make = kind._initialize_context  # noqa: SLF001 - PySpark offers no other way

    def made(self: Any, conf: Any) -> Any:
        complete(conf)
        return make(self, conf)

    kind._initialize_context = made  # noqa: SLF001 - as above
    try:
        yield
    finally:
        kind._initialize_context = make  # noqa: SLF001 - as above


def _is_not_raised(record: logging.LogRecord) -> bool:
    """Check whether a record tells more than an exception does: py4j logs, with a traceback, what it raises."""
    return record.msg not in RAISED


def _is_not_unclosed(record: logging.LogRecord) -> bool:
    return record.msg != UNCLOSED


def _is_not_of_a_finalizer(record: logging.LogRecord) -> bool:
    """Check that a record does not tell of an object that nobody has any more, in a JVM that has ended."""
    if record.msg != UNSENT:
        return True
    # PySpark is optional and costs 0.3 s: a list of plugins imports this module, and asks for no session.
    from py4j.clientserver import FinalizerWorker

    return not isinstance(threading.current_thread(), FinalizerWorker)


def _end_jvm(gateway: Any) -> None:
    # PySpark is optional and costs 0.3 s: a list of plugins imports this module, and asks for no session.
    from py4j.protocol import Py4JError
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    # Forgotten first: whoever asks from now on is given a new JVM, and not one that ends. Where the JVM had died,
    # stopping the session failed halfway, and what is left of it would refuse the next one.
    SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001 - PySpark offers no other way
    SparkContext._active_spark_context = SparkSession._instantiatedSession = None  # noqa: SLF001 - as above
    with contextlib.suppress(Py4JError, OSError):  # it may have ended before
        gateway.shutdown()
    with contextlib.suppress(OSError):
        gateway.proc.stdin.close()  # whose end is the JVM's
    try:
        gateway.proc.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        gateway.proc.kill()
        gateway.proc.wait()


def current_session() -> Any:
    """The session of this process that was started last, unless it was stopped; None if there is none."""
    # PySpark is optional and costs 0.3 s: a list of plugins imports this module, and asks for no session.
    from pyspark.sql import SparkSession

    found = SparkSession._instantiatedSession  # noqa: SLF001 - PySpark offers no other way
    return None if found is None or is_stopped(found) else found


def is_stopped(spark: Any) -> bool:
    """True if a session was stopped."""
    return spark.sparkContext._jsc is None  # noqa: SLF001 - PySpark offers no other way


def stop_if_alive(stop: Callable[[], object]) -> None:
    """Call what stops a part of a session; where the driver's JVM has died, it is stopped."""
    # PySpark is optional and costs 0.3 s: a list of plugins imports this module, and asks for no session.
    from py4j.protocol import Py4JNetworkError

    with contextlib.suppress(Py4JNetworkError, ConnectionError):
        stop()


def session_runs() -> bool:
    """True if a session runs in this process; Spark allows one SparkContext in a JVM."""
    # PySpark is optional and costs 0.3 s: a list of plugins imports this module, and asks for no session.
    from pyspark import SparkContext

    return SparkContext._active_spark_context is not None  # noqa: SLF001 - getOrCreate would start one


def ignore_end_of_jvm(context: Any) -> None:
    """Keep PySpark's server of accumulators quiet about a driver JVM that ends before this process does.

    A signal to a group of processes reaches both, and the server prints a traceback for each connection that ends.
    """
    server = context._accumulatorServer  # noqa: SLF001 - PySpark offers no other way
    tell = server.handle_error

    def tell_what_is_none_of_it(request: Any, address: Any) -> None:
        if not isinstance(sys.exception(), (EOFError, ConnectionError)):
            tell(request, address)

    server.handle_error = tell_what_is_none_of_it


def stream_execution(query: Any) -> Any:
    """The Scala object that runs a streaming query."""
    return query._jsq.streamingQuery()  # noqa: SLF001 - PySpark offers no other way

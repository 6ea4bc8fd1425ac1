"""Listens to a running Spark application without slowing it down."""

from __future__ import annotations

import queue
import threading
import time
from typing import TYPE_CHECKING, Any, ClassVar, Self

from headgate_spark.driver import running_gateway, scala_context
from headgate_spark.events import StageCompleted, parse
from headgate_spark.history import History
from headgate_spark.shuffle import Shuffle, read_sizes

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from headgate_spark.events import ExecutorAdded
    from headgate_spark.history import Job

CAPACITY = 20_000
"""Events that may wait to be parsed; further ones are dropped and counted."""
HEARD = frozenset(
    {
        "onTaskEnd",
        "onJobStart",
        "onJobEnd",
        "onStageCompleted",
        "onExecutorAdded",
        "onExecutorRemoved",
    }
)


class _Listener:
    """A SparkListener in Python. Spark calls it on one thread of its own, not on the job's."""

    class Java:
        """What py4j implements on the JVM's side."""

        implements: ClassVar[list[str]] = ["org.apache.spark.scheduler.SparkListenerInterface"]

    def __init__(self, hear: Callable[[Any], None]) -> None:
        self._hear = hear

    def __getattr__(self, name: str) -> Callable[[Any], None]:
        """Any of the 35 methods of the interface, and those a later Spark adds."""
        if name in HEARD:
            return self._hear
        if name.startswith("on"):
            return _ignore
        raise AttributeError(name)


def _ignore(_event: Any) -> None:
    """An event that says nothing about placement or load."""


class EventRecorder:
    """Keeps the history of an application while it runs; a context manager.

    Spark drops events for everybody if a listener is slow, so the listener only turns an event into JSON (some
    0.2 ms) and queues it; a thread of the recorder parses it and asks the map output tracker while the job that
    reads the shuffle still holds it.
    """

    def __init__(self, spark: SparkSession, *, capacity: int = CAPACITY) -> None:
        self._context: Any = spark.sparkContext
        self._queue: queue.Queue[str | None] = queue.Queue(capacity)
        self._changed = threading.Condition(threading.RLock())
        self._history = History()
        self._listener: _Listener | None = None
        self._thread: threading.Thread | None = None
        self.dropped = 0
        """Events lost because the queue was full."""
        self.failures: list[str] = []
        """What could not be read of an event or a shuffle, latest last, at most 100."""

    def start(self) -> Self:
        """Begin to listen; does nothing if it listens already."""
        if self._listener is not None:
            return self
        from pyspark.java_gateway import ensure_callback_server_started

        gateway = running_gateway()
        ensure_callback_server_started(gateway)
        self._to_json = gateway.jvm.org.apache.spark.util.JsonProtocol.sparkEventToJsonString
        self._thread = threading.Thread(target=self._run, name="headgate-recorder", daemon=True)
        self._thread.start()
        self._listener = _Listener(self._hear)
        holder = gateway.jvm.java.util.ArrayList()
        holder.add(self._listener)
        self._proxy = holder.toArray()
        self._call("addSparkListener")
        return self

    def stop(self) -> None:
        """Stop listening, before the session is stopped; what was recorded stays. Idempotent."""
        if self._listener is None or self._thread is None:
            return
        self._call("removeSparkListener")
        self._listener = None
        self._queue.put(None)
        self._thread.join()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_error: object) -> None:
        self.stop()

    def jobs(self, scope: str | None = None, *, since: float = 0.0) -> tuple[Job, ...]:
        """The finished jobs that are remembered, oldest first.

        Args:
            scope: Only jobs under this scope; None takes all.
            since: Only jobs that started at this time (seconds since the epoch) or later.
        """
        with self._changed:
            return tuple(
                job
                for job in self._history.jobs
                if scope in (None, job.start.scope) and job.start.time >= since and job.end.succeeded
            )

    def wait(self, scope: str | None, count: int, *, since: float, timeout: float) -> tuple[Job, ...]:
        """The jobs since a time, as soon as there are `count` of them or `timeout` seconds are over."""
        deadline = time.monotonic() + timeout
        with self._changed:
            self._changed.wait_for(
                lambda: len(self.jobs(scope, since=since)) >= count, timeout=deadline - time.monotonic()
            )
        return self.jobs(scope, since=since)

    def executors(self) -> dict[str, ExecutorAdded]:
        """Executors that registered while it listened and are still there, by id."""
        with self._changed:
            return dict(self._history.executors)

    def _call(self, method: str) -> None:
        """Call a method of the SparkContext with the listener's one proxy.

        Spark removes a listener by identity, and py4j makes a new proxy each time it is given a Python object; an
        array that stays in the JVM keeps the same.
        """
        gateway = running_gateway()
        kinds = gateway.new_array(gateway.jvm.java.lang.Class, 1)
        kinds[0] = gateway.jvm.java.lang.Class.forName(_Listener.Java.implements[0])
        scala = scala_context(self._context)
        scala.getClass().getMethod(method, kinds).invoke(scala, self._proxy)

    def _hear(self, event: Any) -> None:
        try:
            self._queue.put_nowait(self._to_json(event))
        except queue.Full:
            self.dropped += 1

    def _run(self) -> None:
        while (text := self._queue.get()) is not None:
            try:
                self._take(text)
            except Exception as error:  # noqa: BLE001 - one unreadable event must not end the recording
                self.failures = [*self.failures[-99:], f"{type(error).__name__}: {error} in {text[:80]}"]

    def _take(self, text: str) -> None:
        event = parse(text)
        if event is None:
            return
        with self._changed:
            self._history.add(event)
            self._changed.notify_all()
        if isinstance(event, StageCompleted):
            self._ask_tracker(event)

    def _ask_tracker(self, event: StageCompleted) -> None:
        for target, reduces, maps in self._history.exchanges(event):
            sizes = read_sizes(maps, reduces)
            if sizes is not None:
                self._history.add_shuffle(Shuffle(source=event.stage, target=target, sizes=sizes))

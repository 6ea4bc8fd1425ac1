"""Recorder of a running Spark application's events, which does not slow it down."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Self

from headworks_spark.driver.reach import driver_of
from headworks_spark.driver.session import located
from headworks_spark.events.event import JobEnd, QueryEnded, QueryProgress, StageCompleted, parse
from headworks_spark.events.history import History, Shuffle
from headworks_spark.events.shuffle import read_sizes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headworks_spark.driver.driver import Events, Sizes
    from headworks_spark.events.event import ExecutorAdded
    from headworks_spark.events.history import Job

CAPACITY = 20_000
"""Events that may wait to be parsed, further ones are dropped and counted: if larger, the driver needs more memory
while Python is busy; if smaller, a job of many short tasks loses events."""


class EventRecorder:
    """The history of an application, kept while it runs; a context manager.

    Spark drops events for everybody if a listener is slow, so a listener only queues them; a thread of the recorder
    takes them, parses them, and asks the map output tracker while the job that reads the shuffle still holds it.
    """

    def __init__(self, spark: SparkSession, *, capacity: int = CAPACITY) -> None:
        """Prepare; `start` begins.

        Args:
            capacity: Events that may wait to be parsed.
        """
        self._spark = spark
        self._capacity = capacity
        self._changed = threading.Condition(threading.RLock())
        self._history = History()
        self._queue: Events | None = None
        self._sizes: Sizes | None = None
        self._thread: threading.Thread | None = None
        self._lost = 0
        self._open = False
        self.failures: list[str] = []
        """What could not be read of an event or a shuffle, latest last, at most 100."""

    @property
    def dropped(self) -> int:
        """Events lost because the queue was full."""
        return self._lost + (self._queue.dropped if self._queue else 0)

    def start(self) -> Self:
        """Begin to listen; does nothing if it listens already.

        Raises:
            EngineError: The session has no jar of the adapter's, and none can be compiled.
        """
        if self._queue is not None:
            return self
        driver = driver_of(self._spark)
        self._sizes = driver.sizes()
        self._queue = driver.listen(self._capacity)
        # Those that come later tell by themselves.
        known = located(self._spark, alive=False).values()
        self._history.nodes.update({host: node for node, host in known if node != host})
        self._open = True
        self._thread = threading.Thread(target=self._run, args=[self._queue], name="headworks-recorder", daemon=True)
        self._thread.start()
        return self

    def stop(self) -> None:
        """Stop listening, before the session is stopped; what was recorded stays. Idempotent."""
        if self._queue is None or self._thread is None:
            return
        # Closed first, then told to end: the thread takes what is left in the queue before it goes.
        queue = self._queue
        queue.close()
        self._open = False
        self._thread.join()
        self._queue = None
        self._lost += queue.dropped

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
        """The jobs since a time, as soon as there are `count` of them or the time is over.

        Args:
            scope: Only jobs under this scope; None takes all.
            since: Only jobs that started at this time (seconds since the epoch) or later.
            timeout: Seconds to wait; there may be fewer jobs then.
        """
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

    def progress(self, query: str) -> tuple[QueryProgress, ...]:
        """The remembered micro-batches of a query as it reported them, oldest first."""
        with self._changed:
            return tuple(each for each in self._history.progress if each.query == query)

    def complete(self, job: Job) -> bool:
        """True if the micro-batch of a finished job is over, and its query has reported it (`History.complete`).

        Args:
            job: A job that is remembered.
        """
        with self._changed:
            return self._history.complete(job)

    def ended(self, run: str) -> QueryEnded | None:
        """The end of a run of a query, None if nothing was heard of it."""
        with self._changed:
            return self._history.ended.get(run)

    def _run(self, queue: Events) -> None:
        while (texts := self._next(queue)) or self._open:
            for text in texts:
                try:
                    self._take(text)
                except Exception as error:  # noqa: BLE001 - one unreadable event must not end the recording
                    self.failures = [*self.failures[-99:], f"{type(error).__name__}: {error} in {text[:80]}"]

    def _next(self, queue: Events) -> list[str]:
        try:
            return queue.take()
        except Exception as error:  # noqa: BLE001 - the driver's JVM is gone, or going
            self.failures = [*self.failures[-99:], f"the driver cannot be heard any more: {error}"]
            self._open = False
            return []

    def _take(self, text: str) -> None:
        event = parse(text)
        if event is None:
            return
        with self._changed:
            self._history.add(event)
            if isinstance(event, JobEnd):  # what `wait` waits for
                self._changed.notify_all()
        # At once: Spark may forget the sizes of a shuffle as soon as the job that reads it is over.
        if isinstance(event, StageCompleted):
            self._ask_tracker(event)

    def _ask_tracker(self, event: StageCompleted) -> None:
        for target, reduces, maps in self._history.shuffles_written(event):
            sizes = None if self._sizes is None else read_sizes(self._sizes, maps, reduces)
            if sizes is not None:
                self._history.add_shuffle(Shuffle(source=event.stage, target=target, sizes=sizes))

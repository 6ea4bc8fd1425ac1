"""Queues of Spark's listener events: in the driver's JVM, from the adapter's jar, or behind a listener in Python."""

from __future__ import annotations

import queue
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from headworks_spark.driver.gateway import running_gateway, scala_context

if TYPE_CHECKING:
    from collections.abc import Callable

MOST = 2_000
"""Events that are taken in one call."""
WAIT = 0.5
"""Seconds that a call waits for the first event."""
LINGER = 0.5
"""Seconds that it then waits for others, unless the end of a stage, a job or a micro-batch comes first."""
HEARD = frozenset(
    {
        "onTaskEnd",
        "onJobStart",
        "onJobEnd",
        "onStageCompleted",
        "onExecutorAdded",
        "onExecutorRemoved",
        "onOtherEvent",
    }
)
"""Callbacks of a SparkListener that say something about placement or load."""
INTERFACE = "org.apache.spark.scheduler.SparkListenerInterface"
"""Spark's listener interface; PySpark has none of its own for a SparkContext."""


class EventQueue(Protocol):
    """A bounded queue of listener events that a SparkContext fills."""

    @property
    def dropped(self) -> int:
        """Events lost because it was full."""

    def take(self) -> list[str]:
        """Wait for events, at most `WAIT` seconds, and take them, each as JSON."""

    def close(self) -> None:
        """Hear no more; what is in the queue can still be taken."""


def listen(context: Any, capacity: int) -> EventQueue:
    """Subscribe to the events of a session from now on: in the JVM where the adapter's jar is, else in Python.

    Args:
        capacity: Events that may wait; further ones are dropped and counted.
    """
    # py4j is optional: a list of plugins imports this module without it.
    from py4j.java_gateway import JavaClass

    # py4j gives a JavaPackage for a class that the driver does not have, and raises nothing.
    kind = running_gateway().jvm.headworks.spark.EventQueue
    if isinstance(kind, JavaClass):
        return DriverEventQueue(context, kind(capacity))
    return PythonEventQueue(context, capacity)


class DriverEventQueue:
    """The queue of the jar: a job pays for an offer to a queue, and a call from here takes thousands of events."""

    def __init__(self, context: Any, java: Any) -> None:
        """Subscribe.

        Args:
            java: A `headworks.spark.EventQueue` of its JVM.
        """
        self._scala = scala_context(context)
        self._java = java
        self._scala.addSparkListener(java)

    @property
    def dropped(self) -> int:
        """Events lost because the queue was full."""
        return int(self._java.dropped())

    def take(self) -> list[str]:
        """Take what is there."""
        found: str = self._java.take(MOST, round(WAIT * 1000), round(LINGER * 1000))
        return found.splitlines()

    def close(self) -> None:
        """Leave the bus."""
        self._scala.removeSparkListener(self._java)
        self._java.close()


class PythonEventQueue:
    """The queue of a listener in Python: no jar, but a call from the JVM for every event, of some 0.2 ms each."""

    def __init__(self, context: Any, capacity: int) -> None:
        """Subscribe.

        Args:
            capacity: Events that may wait; further ones are dropped and counted.
        """
        # PySpark is optional and costs 0.3 s: a list of plugins imports this module, and asks for no session.
        from pyspark.java_gateway import ensure_callback_server_started

        gateway = running_gateway()
        ensure_callback_server_started(gateway)
        self.dropped = 0
        self._context = context
        self._queue: queue.Queue[str] = queue.Queue(capacity)
        self._to_json = gateway.jvm.org.apache.spark.util.JsonProtocol.sparkEventToJsonString
        # py4j makes a new proxy each time it passes a Python object; one in an array keeps its identity (see `_call`).
        holder = gateway.jvm.java.util.ArrayList()
        self._listener = _Listener(self._hear)
        holder.add(self._listener)
        self._proxy = holder.toArray()
        self._call("addSparkListener")

    def take(self) -> list[str]:
        """Take what is there."""
        found = []
        try:
            found.append(self._queue.get(timeout=WAIT))
            while len(found) < MOST:
                found.append(self._queue.get_nowait())
        except queue.Empty:
            pass
        return found

    def close(self) -> None:
        """Leave the bus."""
        self._call("removeSparkListener")

    def _hear(self, event: Any) -> None:
        # This is Spark's listener thread: it must never block, or Spark drops events for every listener.
        try:
            self._queue.put_nowait(self._to_json(event))
        except queue.Full:
            self.dropped += 1

    def _call(self, method: str) -> None:
        """Call a method of the SparkContext with the listener's one proxy.

        Spark removes a listener by identity, and py4j makes a new proxy each time it is given a Python object; an
        array that stays in the JVM keeps the same.
        """
        gateway = running_gateway()
        kinds = gateway.new_array(gateway.jvm.java.lang.Class, 1)
        kinds[0] = gateway.jvm.java.lang.Class.forName(INTERFACE)
        scala = scala_context(self._context)
        scala.getClass().getMethod(method, kinds).invoke(scala, self._proxy)


class _Listener:
    """A SparkListener in Python. Spark calls it on one thread of its own, not on the job's."""

    class Java:
        """Interfaces that py4j's proxy implements in the JVM; py4j reads this name."""

        implements: ClassVar[list[str]] = [INTERFACE]

    def __init__(self, hear: Callable[[Any], None]) -> None:
        self._hear = hear

    def __getattr__(self, name: str) -> Callable[[Any], bool | None]:
        """Any of the 35 methods of the interface, those a later Spark adds, and Java's comparison."""
        if name == "equals":
            return _differs
        if name in HEARD:
            return self._hear
        if name.startswith("on"):
            return _ignore
        raise AttributeError(name)


def _differs(_other: Any) -> bool:
    """False: it equals no other listener of the application. Java asks only those that are not the same object."""
    return False


def _ignore(_event: Any) -> None:
    """An event that says nothing about placement or load."""

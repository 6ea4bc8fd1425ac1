"""The queue of Spark's listener events in the driver's JVM."""

from __future__ import annotations

from typing import Any

from headworks_spark.driver.classes import made
from headworks_spark.driver.gateway import scala_context

MOST = 2_000
"""Events that are taken in one call."""
WAIT = 0.5
"""Seconds that a call waits for the first event."""
LINGER = 0.5
"""Seconds that it then waits for others, unless the end of a stage, a job or a micro-batch comes first."""


class EventQueue:
    """The queue of the jar: a job pays for an offer to a queue, and a call from here takes thousands of events."""

    def __init__(self, context: Any, capacity: int) -> None:
        """Subscribe to the events of a session from now on.

        Args:
            capacity: Events that may wait; further ones are dropped and counted.

        Raises:
            EngineError: The session has no jar of the adapter's, and none can be made.
        """
        self._scala = scala_context(context)
        self._java = made("EventQueue", capacity)
        self._scala.addSparkListener(self._java)

    @property
    def dropped(self) -> int:
        """Events lost because the queue was full."""
        return int(self._java.dropped())

    def take(self) -> list[str]:
        """Wait for events, at most `WAIT` seconds, and take them, each as JSON."""
        found: str = self._java.take(MOST, round(WAIT * 1000), round(LINGER * 1000))
        return found.splitlines()

    def close(self) -> None:
        """Hear no more; what is in the queue can still be taken."""
        self._scala.removeSparkListener(self._java)
        self._java.close()

"""The driver of a session, as far as Headworks needs it: one interface, with a class for each way to reach it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from headworks_spark.driver.leaders import Leader
    from headworks_spark.driver.operators import PlanNode

HARD = "hard"
"""Level of a session whose task scheduler looks up each task's host: no place is missed while its executor lives."""
NONE = "none"
"""Level of any other session: it can be observed, and no task of it be placed."""


@attrs.frozen
class Trigger:
    """The trigger of a query: Spark's name of its kind, and seconds between two of them, 0 where there is no such."""

    kind: str = ""
    seconds: float = 0.0


class Executor(Protocol):
    """An executor as Spark's status store knows it."""

    @property
    def id(self) -> str:
        """Spark's name of it."""

    @property
    def address(self) -> str:
        """Its `host:port`; its host alone where it has just registered."""

    @property
    def cores(self) -> int:
        """Its cores."""

    def attribute(self, name: str) -> str | None:
        """An attribute, which Spark makes of a variable in its environment."""

    def units(self, resource: str) -> int | None:
        """How many units of a resource, such as a GPU, it has."""


class Events(Protocol):
    """The queue of the jar: a job pays for an offer to a queue, and a call from here takes thousands of events."""

    @property
    def dropped(self) -> int:
        """Events lost because the queue was full."""

    def take(self) -> list[str]:
        """Wait a moment for events, and take them, each as JSON."""

    def close(self) -> None:
        """Hear no more; what is in the queue can still be taken. Raises nothing where the driver is gone."""


class Sizes(Protocol):
    """The map output tracker of the driver."""

    def read(self, mapId: int, reduces: int) -> bytes:  # noqa: N803 - as in the jar
        """Rows of big-endian longs: a map id, then the bytes of each reduce partition; none of a forgotten shuffle."""


class Driver(Protocol):
    """The driver of one session."""

    @property
    def classes(self) -> Any:
        """The jar's classes with static methods: `PlacementTable`, `TableLease`, `PlacementCounts`, `Faults`."""

    @property
    def failures(self) -> tuple[type[Exception], ...]:
        """Errors of a call that may mean that the driver is gone."""

    def answers(self) -> bool:
        """False if the driver is gone."""

    def leave(self) -> None:
        """Let calls fail at once where the driver is gone, those that try for longer too, until the next `listen`."""

    def level(self) -> str:
        """`HARD` if it has Headworks's task scheduler, else `NONE`."""

    def stopped(self) -> bool:
        """True if this session was stopped."""

    def setting(self, name: str, default: str) -> str:
        """A setting of its SparkContext."""

    def settings(self, prefix: str) -> Mapping[str, str]:
        """The settings that begin so, by their whole names."""

    def heap(self) -> int:
        """Megabytes of heap of each executor."""

    def executors(self, *, alive: bool) -> Iterator[Executor]:
        """Executors that live, or all that were ever there.

        Spark's status store knows an executor up to seconds before it takes tasks and the task scheduler hears of it.
        Tasks that are placed there meanwhile would be left to Spark: at level hard such an executor does not live yet.
        One that is being decommissioned lives until it is gone.
        """

    def listen(self, capacity: int) -> Events:
        """Hear the events of the session from now on; at most so many may wait."""

    def sizes(self) -> Sizes:
        """The map output tracker."""

    def usage(self) -> str:
        """What executors last said of their processes, a line each; "" without that plugin."""

    def trigger(self, query: Any) -> Trigger:
        """The trigger of a streaming query of the session; that of None is none."""

    def plan(self, query: Any) -> PlanNode | None:
        """The physical plan of a query's last batch; None before its first."""

    def leaders(self, scan: Any) -> tuple[Leader | None, ...]:
        """The leader of what each task of a scan reads, None where there is none now; () of a scan of no Kafka."""

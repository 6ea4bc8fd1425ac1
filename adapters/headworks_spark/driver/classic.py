"""The driver of a classic session: its JVM is beside this process, and py4j reaches all that is in it."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import attrs

from headworks_spark.driver.classes import made
from headworks_spark.driver.driver import HARD, NONE, Trigger
from headworks_spark.driver.gateway import is_stopped, running_gateway, scala_context, stop_if_alive, stream_execution
from headworks_spark.driver.leaders import Leader, leaders
from headworks_spark.driver.operators import SCAN, STATEFUL, PlanNode

if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEDULERS = "headworks.spark."
"""Package of the task schedulers that make a session level hard: one for each that Spark has for a cluster manager."""
MOST = 2_000
"""Events that are taken in one call."""
WAIT = 0.5
"""Seconds that a call waits for the first event."""
LINGER = 0.5
"""Seconds that it then waits for others, unless the end of a stage, a job or a micro-batch comes first."""


@attrs.frozen
class ClassicExecutor:
    """A summary in Spark's status store, asked over py4j for no more than is wanted."""

    _summary: Any

    @property
    def id(self) -> str:
        """Its id."""
        return str(self._summary.id())

    @property
    def address(self) -> str:
        """Its `host:port`."""
        return str(self._summary.hostPort())

    @property
    def cores(self) -> int:
        """Its cores."""
        return int(self._summary.totalCores())

    def attribute(self, name: str) -> str | None:
        """See `Executor.attribute`."""
        found = self._summary.attributes().get(name)
        return str(found.get()) if found.isDefined() else None

    def units(self, resource: str) -> int | None:
        """See `Executor.units`."""
        found = self._summary.resources().get(resource)
        return len(found.get().addresses()) if found.isDefined() else None


class ClassicEvents:
    """The queue of the jar in the driver's JVM."""

    def __init__(self, scala: Any, capacity: int) -> None:
        """Subscribe to the events of a session from now on.

        Args:
            scala: The Scala SparkContext.
            capacity: Events that may wait; further ones are dropped and counted.

        Raises:
            EngineError: The session has no jar of the adapter's, and none can be made.
        """
        self._scala = scala
        self._java = made("EventQueue", capacity)
        self._dropped = 0
        self._scala.addSparkListener(self._java)

    @property
    def dropped(self) -> int:
        """Events lost because the queue was full; where the driver is gone, as far as was heard."""
        stop_if_alive(self._count)
        return self._dropped

    def _count(self) -> None:
        self._dropped = int(self._java.dropped())

    def take(self) -> list[str]:
        """Wait for events, at most `WAIT` seconds, and take them, each as JSON."""
        found: str = self._java.take(MOST, round(WAIT * 1000), round(LINGER * 1000))
        return found.splitlines()

    def close(self) -> None:
        """Hear no more; what is in the queue can still be taken."""
        stop_if_alive(lambda: self._scala.removeSparkListener(self._java))
        stop_if_alive(self._java.close)


@attrs.frozen
class Classic:
    """See `Driver`."""

    _spark: Any

    @property
    def _scala(self) -> Any:
        return scala_context(self._spark.sparkContext)

    @property
    def classes(self) -> Any:
        """The package of the jar."""
        return running_gateway().jvm.headworks.spark

    @property
    def failures(self) -> tuple[type[Exception], ...]:
        """Errors of py4j, and of its sockets."""
        # py4j is optional: a list of plugins imports this module without it.
        from py4j.protocol import Py4JError

        return Py4JError, OSError

    def answers(self) -> bool:
        """Ask the JVM for its time."""
        with contextlib.suppress(AttributeError, *self.failures):
            running_gateway().jvm.java.lang.System.nanoTime()
            return True
        return False

    def leave(self) -> None:
        """See `Driver.leave`: they do so in any case."""

    def level(self) -> str:
        """See `Driver.level`."""
        return HARD if _is_ours(self._scala.taskScheduler()) else NONE

    def stopped(self) -> bool:
        """See `Driver.stopped`."""
        return is_stopped(self._spark)

    def setting(self, name: str, default: str) -> str:
        """See `Driver.setting`."""
        return str(self._scala.conf().get(name, default))

    def settings(self, prefix: str) -> dict[str, str]:
        """See `Driver.settings`."""
        found = self._scala.conf().getAllWithPrefix(prefix)
        return {prefix + each.productElement(0): each.productElement(1) for each in found}

    def heap(self) -> int:
        """See `Driver.heap`."""
        return int(self._scala.executorMemory())

    def executors(self, *, alive: bool) -> Iterator[ClassicExecutor]:
        """See `Driver.executors`."""
        scala = self._scala
        found, scheduler = scala.statusStore().executorList(alive), scala.taskScheduler()
        every = not (alive and _is_ours(scheduler))
        for each in (found.apply(index) for index in range(found.size())):
            if each.id() != "driver" and (every or _is_known(scheduler, each.id())):
                yield ClassicExecutor(each)

    def listen(self, capacity: int) -> ClassicEvents:
        """See `Driver.listen`."""
        return ClassicEvents(self._scala, capacity)

    def sizes(self) -> Any:
        """See `Driver.sizes`."""
        return made("ShuffleSizes")

    def usage(self) -> str:
        """See `Driver.usage`."""
        # py4j is optional: a list of plugins imports this module without it.
        from py4j.java_gateway import JavaClass

        # py4j gives a JavaPackage for a class that the driver does not have, and raises nothing.
        plugin = self.classes.UsagePlugin
        return str(plugin.read()) if isinstance(plugin, JavaClass) else ""

    def trigger(self, query: Any) -> Trigger:
        """See `Driver.trigger`."""
        if query is None:
            return Trigger()
        trigger = stream_execution(query).trigger()
        kind = trigger.getClass().getSimpleName().rstrip("$")
        if kind == "RealTimeTrigger":
            return Trigger(kind, trigger.batchDurationMs() / 1e3)
        timed = kind in ("ProcessingTimeTrigger", "ContinuousTrigger")
        return Trigger(kind, trigger.intervalMs() / 1e3 if timed else 0.0)

    def plan(self, query: Any) -> PlanNode | None:
        """See `Driver.plan`."""
        execution = stream_execution(query).lastExecution()
        return None if execution is None else _read(execution.executedPlan())

    def leaders(self, scan: Any) -> tuple[Leader | None, ...]:
        """See `Driver.leaders`."""
        return leaders(made("KafkaLeaders").read(scan))


def _is_ours(scheduler: Any) -> bool:
    return bool(scheduler.getClass().getName().startswith(SCHEDULERS))


def _is_known(scheduler: Any, executor: str) -> bool:
    alive, leaving = scheduler.isExecutorAlive, scheduler.getExecutorDecommissionState
    return bool(alive(executor) or leaving(executor).isDefined())


def _read(node: Any) -> PlanNode:
    name = node.getClass().getSimpleName()
    children = node.children()
    found = tuple(_read(children.apply(index)) for index in range(children.size()))
    info = node.stateInfo() if name in STATEFUL else None
    number = None if info is None or info.isEmpty() else info.get().operatorId()
    return PlanNode(name, found, number, node if name == SCAN else None)

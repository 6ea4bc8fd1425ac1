"""Scaling of a running application: executors added, decommissioned, and killed when they do not end in time."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, TypeVar

from headworks.errors import EngineError
from headworks.model import Receipt, Step
from headworks_spark.driver.advice import DYNAMIC, dynamic_allocation
from headworks_spark.driver.connect import is_connect
from headworks_spark.driver.gateway import running_gateway, scala_context
from headworks_spark.driver.session import PREFIX, executors, level_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from headworks_spark.target import SparkTarget

T = TypeVar("T")
"""Whatever a look finds."""
TIMEOUT = 60.0
"""Seconds that executors may take to come, and to go by themselves: if larger, a task that hangs holds up the loop
longer; if smaller, long tasks are killed, and Spark runs them again elsewhere."""

STANDALONE = ("spark://", PREFIX)
"""Begins of the master URLs of clusters on which Spark has nothing of its own for the nodes of a stream."""


def scale(target: SparkTarget, add: int, drain: Sequence[str], *, timeout: float = TIMEOUT) -> Receipt:
    """Drain nodes, then add others.

    On a cluster that was started here the Workers go and come with their executors; on any other the Master chooses
    where a new executor starts, and a drained Worker stays, empty, for other applications.

    Args:
        add: Number of executors to add.
        timeout: Seconds for each of these steps.

    Returns:
        A receipt with one step for each host and for each new executor, in that order; it cannot be undone. With
        dynamic allocation, and on other clusters than standalone ones, nothing is done.
    """
    if why := _refusal(target.spark):
        step = Step(action="scale", subject="executors", done=False, message=why)
        return Receipt(done=False, level=level_of(target.spark), steps=(step,))
    steps = [drain_node(target, host, timeout=timeout) for host in drain]
    steps += [add_node(target, timeout=timeout) for _ in range(add)]
    return Receipt(done=all(step.done for step in steps), level=level_of(target.spark), steps=tuple(steps))


def _refusal(spark: Any) -> str:
    """Why nodes of a session are not scaled here, "" if they are."""
    if is_connect(spark):
        return f"this is a client of Spark Connect, which adds and ends no executor: {DYNAMIC} of its server does"
    if dynamic_allocation(spark):  # it sets its own total every 100 ms
        return f"{DYNAMIC} is true, and Spark would undo it: start the session with false, or leave out --elastic"
    if not (master := spark.sparkContext.master).startswith(STANDALONE):
        return f"the session runs on {master}, and standalone clusters alone are scaled here: {DYNAMIC} does it there"
    return ""


def drain_node(target: SparkTarget, host: str, *, timeout: float = TIMEOUT) -> Step:
    """Decommission the executors of a host: they end their tasks and go.

    Args:
        host: Host of the executors.
        timeout: Seconds after which those that are left are killed.

    Returns:
        A step that is not done if no executor is there, or if one cannot be ended.
    """
    spark = target.spark
    alive = executors(spark)
    leaving = [executor for executor, where in alive.items() if where == host]
    if not leaving:
        return Step(action="drain", subject=host, done=False, message="no executor is alive there")
    # First the smaller total: otherwise the Master starts another executor for each one that goes.
    request_total(spark, target.total.change(len(alive), -len(leaving)))
    began = time.monotonic()
    for executor in leaving:
        _decommission(spark, executor)
    gone = _until(lambda: not set(leaving) & set(executors(spark)), timeout)
    if not gone:
        _kill(spark, leaving)
        if not _until(lambda: not set(leaving) & set(executors(spark)), TIMEOUT):
            return Step(action="drain", subject=host, done=False, message="its executors do not end")
    how = "went by themselves" if gone else f"were killed after {timeout:g} s"
    message = f"{len(leaving)} executors {how} in {time.monotonic() - began:.1f} s"
    if target.cluster is not None:
        target.cluster.drain_worker(host, timeout=timeout)
        message += ", and their Worker ended"
    return Step(action="drain", subject=host, message=message)


def add_node(target: SparkTarget, *, timeout: float = TIMEOUT) -> Step:
    """Ask for one more executor, and see it alive.

    Args:
        timeout: Seconds that it may take.

    Returns:
        A step with the host of the new executor; not done if none came.
    """
    spark, cluster = target.spark, target.cluster
    before = executors(spark)
    # A cluster of our own has a Worker whose cores are free only if one was drained before: it is started again.
    if cluster is not None:
        stopped = sorted({each.host for each in cluster.workers} - set(cluster.alive_workers()))
        if stopped:
            cluster.start_worker(stopped[0])
    request_total(spark, target.total.change(len(before), 1))
    new = _until(lambda: _others(spark, before), timeout)
    if not new:
        message = f"no executor came within {timeout:g} s: look whether a Worker has free cores and memory"
        return Step(action="add", subject="executor", done=False, message=message)
    return Step(action="add", subject=", ".join(sorted(new.values())), message="an executor is alive there")


def _others(spark: Any, known: Collection[str]) -> dict[str, str]:
    return {executor: host for executor, host in executors(spark).items() if executor not in known}


def request_total(spark: Any, number: int) -> None:
    """Set the number of executors that the application may have; ends none.

    Args:
        number: Executors in all.

    Raises:
        EngineError: The cluster manager refuses.
    """
    jvm = running_gateway().jvm
    nothing = jvm.PythonUtils.toScalaMap(jvm.java.util.HashMap())
    if not scala_context(spark.sparkContext).requestTotalExecutors(number, 0, nothing):
        raise EngineError(f"the cluster manager does not take a total of {number} executors")


def _decommission(spark: Any, executor: str) -> None:
    jvm = running_gateway().jvm
    why = jvm.org.apache.spark.scheduler.ExecutorDecommissionInfo("drained by Headworks", jvm.scala.Option.empty())
    scala_context(spark.sparkContext).schedulerBackend().decommissionExecutor(executor, why, False, False)


def _kill(spark: Any, leaving: Collection[str]) -> None:
    jvm = running_gateway().jvm
    ids = jvm.java.util.ArrayList()
    for executor in leaving:
        ids.add(executor)
    scala_context(spark.sparkContext).killExecutors(jvm.PythonUtils.toSeq(ids))


def _until(look: Callable[[], T], timeout: float) -> T:
    """The last finding of a repeated look: the first that is true, or the one when the time was over."""
    deadline = time.monotonic() + timeout
    while not (found := look()) and time.monotonic() < deadline:
        time.sleep(0.1)
    return found

"""Executors that come and go while an application runs: added, drained, and ended when they do not go by themselves."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, TypeVar

from headgate.errors import EngineError
from headgate.model import Receipt, Step
from headgate_spark.driver.gateway import running_gateway, scala_context
from headgate_spark.driver.session import executors, level_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from headgate_spark.target import SparkTarget

T = TypeVar("T")
TIMEOUT = 60.0
"""Seconds that executors may take to come, and to go by themselves."""


def scale(target: SparkTarget, add: int, drain: Sequence[str], *, timeout: float = TIMEOUT) -> Receipt:
    """Drain nodes, then add others.

    On a cluster that was started here the Workers go and come with their executors; on any other the Master chooses
    where a new executor starts, and a drained Worker stays, empty, for other applications.
    """
    steps = [drain_node(target, host, timeout=timeout) for host in drain]
    steps += [add_node(target, timeout=timeout) for _ in range(add)]
    return Receipt(done=all(step.done for step in steps), level=level_of(target.spark), steps=tuple(steps))


def drain_node(target: SparkTarget, host: str, *, timeout: float = TIMEOUT) -> Step:
    """Let the executors of a host end their tasks and go; kill those that are left after `timeout` seconds."""
    spark = target.spark
    leaving = [executor for executor, where in executors(spark).items() if where == host]
    if not leaving:
        return Step(action="drain", subject=host, done=False, message="no executor is alive there")
    request_total(spark, len(executors(spark)) - len(leaving))
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
    """Ask for one more executor, and see it alive."""
    spark, cluster = target.spark, target.cluster
    before = executors(spark)
    if cluster is not None:
        stopped = sorted({each.host for each in cluster.workers} - set(cluster.alive_workers()))
        if stopped:
            cluster.start_worker(stopped[0])
    request_total(spark, len(before) + 1)
    new = _until(lambda: _others(spark, before), timeout)
    if not new:
        message = f"no executor came within {timeout:g} s: look whether a Worker has free cores and memory"
        return Step(action="add", subject="executor", done=False, message=message)
    return Step(action="add", subject=", ".join(sorted(new.values())), message="an executor is alive there")


def _others(spark: Any, known: Collection[str]) -> dict[str, str]:
    return {executor: host for executor, host in executors(spark).items() if executor not in known}


def request_total(spark: Any, number: int) -> None:
    """Set how many executors the application may have; ends none."""
    jvm = running_gateway().jvm
    nothing = jvm.PythonUtils.toScalaMap(jvm.java.util.HashMap())
    if not scala_context(spark.sparkContext).requestTotalExecutors(number, 0, nothing):
        raise EngineError(f"the cluster manager does not take a total of {number} executors")


def _decommission(spark: Any, executor: str) -> None:
    jvm = running_gateway().jvm
    why = jvm.org.apache.spark.scheduler.ExecutorDecommissionInfo("drained by Headgate", jvm.scala.Option.empty())
    scala_context(spark.sparkContext).schedulerBackend().decommissionExecutor(executor, why, False, False)


def _kill(spark: Any, leaving: Collection[str]) -> None:
    jvm = running_gateway().jvm
    ids = jvm.java.util.ArrayList()
    for executor in leaving:
        ids.add(executor)
    scala_context(spark.sparkContext).killExecutors(jvm.PythonUtils.toSeq(ids))


def _until(look: Callable[[], T], timeout: float) -> T:
    """What was last seen: the first that is true, or what there was when the time was over."""
    deadline = time.monotonic() + timeout
    while not (found := look()) and time.monotonic() < deadline:
        time.sleep(0.1)
    return found

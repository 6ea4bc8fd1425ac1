"""Spark's own events, as values: the same JSON comes from the live listener and from an event log."""

from __future__ import annotations

import itertools
import json
import math
import re
import sys
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

from headworks.model import FrozenMap
from headworks_spark.driver.session import NODE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

SCOPES = ("headworks.scope", "sql.streaming.queryId", "spark.jobGroup.id")
"""Local properties that name a job's placement; the first that is set counts."""
PYTHON_TIMES = ("time to execute Python code", "time to run Python workers")
"""Wall milliseconds in Python worker processes, per task: the first from Spark 4.1, the second from 4.0."""


@attrs.frozen(kw_only=True)
class TaskEnd:
    """One attempt of one task has ended.

    Attributes:
        task: Id of the attempt, unique in the application; the map output tracker calls it the map id.
        partition: The partition that it computed: the task's index in its component.
        run: Seconds on the executor. `cpu`: CPU seconds of the JVM thread, without Python workers.
        waited: Seconds of `run` for blocks of shuffles from other hosts.
        python: Wall seconds in Python workers; None if the stage has none or Spark is older than 4.0.
        local: Shuffle bytes read from the executor's own host. `remote`: from other hosts.
        read: Rows read from shuffles. `written`: rows written to the next. `written_bytes`: their bytes.
        taken: Rows read from a source. `output`: rows written to a sink.
        started, ended: Seconds since the epoch, by the driver's clock.
    """

    stage: int
    attempt: int
    task: int
    partition: int
    executor: str
    host: str
    started: float
    ended: float
    locality: str
    failed: bool
    run: float = 0.0
    cpu: float = 0.0
    waited: float = 0.0
    python: float | None = None
    taken: int = 0
    output: int = 0
    local: int = 0
    remote: int = 0
    read: int = 0
    written: int = 0
    written_bytes: int = 0


@attrs.frozen(kw_only=True)
class StageShape:
    """A stage of a job: number of tasks, and the stages whose output it reads.

    Attributes:
        rdd: The last of its RDDs, by id; -1 in a log that names none.
        operators: Names of its operators in the order of their RDDs, without the numbers of generated code.
    """

    stage: int
    tasks: int
    parents: tuple[int, ...]
    rdd: int = -1
    operators: str = ""


@attrs.frozen(kw_only=True)
class JobStart:
    """A job has begun: one micro-batch of a query, or one action.

    `scope` is the first of `SCOPES` that is set, `query` the streaming query's id, `batch` its micro-batch.
    `execution` is the number of the SQL query that the job belongs to.
    """

    job: int
    time: float
    stages: tuple[StageShape, ...]
    scope: str | None
    query: str | None
    batch: int | None
    execution: int | None = None

    def in_order(self) -> tuple[StageShape, ...]:
        """The stages by their last RDD, which is made in the order of the plan, the same in every micro-batch.

        Ids of stages are not: siblings, as the two sides of a join, get theirs at random.
        """
        return tuple(sorted(self.stages, key=lambda each: (each.rdd, each.stage)))

    def ordinal(self, stage: int) -> int:
        """Rank of a stage among the job's stages."""
        return [each.stage for each in self.in_order()].index(stage)

    def signature(self, ordinal: int) -> str:
        """Signature of the stage of a rank, the same in each job whose stage of that rank is this one; "" for no stage.

        The words of `StageSignature` in the jar: stages of the job, tasks of the stage, its operators.
        """
        if ordinal >= len(self.stages):
            return ""
        stage = self.in_order()[ordinal]
        return f"{len(self.stages)} {stage.tasks} {stage.operators}"


@attrs.frozen(kw_only=True)
class JobEnd:
    """A job has ended."""

    job: int
    time: float
    succeeded: bool


@attrs.frozen(kw_only=True)
class StageCompleted:
    """An attempt of a stage has ended; `reason` says why it failed, "" if it did not."""

    stage: int
    attempt: int
    reason: str = ""


@attrs.frozen(kw_only=True)
class ExecutorAdded:
    """An executor has registered.

    Attributes:
        host: Its node: what its attribute `NODE` says, else its address.
        address: Its host, as ends of tasks name it; "" where that is its node.
    """

    executor: str
    host: str
    cores: int
    time: float
    address: str = ""


@attrs.frozen(kw_only=True)
class ExecutorRemoved:
    """An executor is gone."""

    executor: str
    reason: str
    time: float


@attrs.frozen(kw_only=True)
class QueryProgress:
    """A streaming query has ended a micro-batch.

    Attributes:
        begin: Seconds since the epoch at which it was triggered.
        rows: Taken from all sources. `done`: per second of processing.
        seconds: Of the whole batch, planning and commit included. `add`: of its job alone.
        observed: What `DataFrame.observe` counted, by name of the observation.
        behind: Rows that sources had beyond the end of the batch; None if none says it in rows.
        state: Bytes of state of each stateful operator, the last one of the query first, as Spark lists them.
    """

    query: str
    run: str
    name: str
    batch: int
    begin: float
    rows: int
    done: float
    seconds: float
    add: float
    observed: FrozenMap[str, Any] = FrozenMap()
    behind: int | None = None
    state: tuple[float, ...] = ()


@attrs.frozen(kw_only=True)
class QueryEnded:
    """A streaming query has ended; `reason` is the error that ended it, "" if it was stopped."""

    query: str
    run: str
    reason: str = ""


Event: TypeAlias = (
    TaskEnd | JobStart | JobEnd | StageCompleted | ExecutorAdded | ExecutorRemoved | QueryProgress | QueryEnded
)


def parse(text: str) -> Event | None:
    """Read one event; None for a kind that says nothing about placement or load.

    Raises:
        ValueError: The text is not JSON. KeyError: An event lacks a field that every Spark since 3.5 writes.
    """
    return read_event(json.loads(text))


def read_event(document: Any) -> Event | None:
    """Read one event from its JSON; see `parse`."""
    reader = _READERS.get(document["Event"])
    return None if reader is None else reader(document)


def _task_end(document: dict[str, Any]) -> TaskEnd:
    info = document["Task Info"]
    return TaskEnd(
        stage=document["Stage ID"],
        attempt=document["Stage Attempt ID"],
        task=info["Task ID"],
        partition=_partition(info),
        # A name is one string for all of its tasks, which are remembered by the hundred thousand.
        executor=sys.intern(info["Executor ID"]),
        host=sys.intern(info["Host"]),
        started=info["Launch Time"] / 1e3,
        ended=info["Finish Time"] / 1e3,
        locality=sys.intern(info["Locality"]),
        # A map task whose output died with its executor ends a second time, as Resubmitted, with neither flag.
        failed=info["Failed"] or info["Killed"] or document["Task End Reason"]["Reason"] != "Success",
        python=_python(info["Accumulables"]),
        **_measured(document.get("Task Metrics")),
    )


def _partition(info: dict[str, Any]) -> int:
    """A stage that is tried again runs the missing partitions alone; its indices start at 0 then."""
    # A log of an older Spark has no "Partition ID", or -1.
    partition: int = info.get("Partition ID", -1)
    return partition if partition >= 0 else int(info["Index"])


def _measured(metrics: dict[str, Any] | None) -> dict[str, Any]:
    if not metrics:
        return {}
    read, write = metrics["Shuffle Read Metrics"], metrics["Shuffle Write Metrics"]
    return {
        "run": metrics["Executor Run Time"] / 1e3,
        "cpu": metrics["Executor CPU Time"] / 1e9,
        "waited": read["Fetch Wait Time"] / 1e3,
        "taken": metrics["Input Metrics"]["Records Read"],
        "output": metrics["Output Metrics"]["Records Written"],
        "local": read["Local Bytes Read"],
        "remote": read["Remote Bytes Read"],
        "read": read["Total Records Read"],
        "written": write["Shuffle Records Written"],
        "written_bytes": write["Shuffle Bytes Written"],
    }


def _python(accumulables: list[dict[str, Any]]) -> float | None:
    """Seconds in Python workers; several Python operators of one stage add up."""
    # The two accumulators overlap where a Spark has both: the first that is found counts alone.
    for name in PYTHON_TIMES:
        found = [float(each["Update"]) for each in accumulables if each.get("Name") == name and "Update" in each]
        if found:
            return sum(found) / 1e3
    return None


def _job_start(document: dict[str, Any]) -> JobStart:
    properties = document.get("Properties") or {}
    batch, execution = properties.get("streaming.sql.batchId"), properties.get("spark.sql.execution.id")
    return JobStart(
        job=document["Job ID"],
        time=document["Submission Time"] / 1e3,
        stages=tuple(
            StageShape(
                stage=info["Stage ID"],
                tasks=info["Number of Tasks"],
                parents=tuple(info["Parent IDs"]),
                rdd=max((each["RDD ID"] for each in info.get("RDD Info", ())), default=-1),
                operators=_operators(info.get("RDD Info", ())),
            )
            for info in document["Stage Infos"]
        ),
        scope=next((properties[name] for name in SCOPES if properties.get(name)), None),
        query=properties.get("sql.streaming.queryId"),
        batch=None if batch is None else int(batch),
        execution=None if execution is None else int(execution),
    )


def _operators(rdds: Iterable[dict[str, Any]]) -> str:
    """Names of the operators that made some RDDs, in order, without repetitions."""
    scopes = [each["Scope"] for each in sorted(rdds, key=lambda each: each["RDD ID"]) if "Scope" in each]
    # The number of a stage of generated code depends on the other stages of the plan.
    names = [re.sub(r" *\([0-9]+\)", "", json.loads(scope)["name"]).strip() for scope in scopes]
    return ",".join(name for name, _ in itertools.groupby(names))


def _job_end(document: dict[str, Any]) -> JobEnd:
    succeeded = document["Job Result"]["Result"] == "JobSucceeded"
    return JobEnd(job=document["Job ID"], time=document["Completion Time"] / 1e3, succeeded=succeeded)


def _stage_completed(document: dict[str, Any]) -> StageCompleted:
    info = document["Stage Info"]
    reason = info.get("Failure Reason", "")
    return StageCompleted(stage=info["Stage ID"], attempt=info["Stage Attempt ID"], reason=reason)


def _executor_added(document: dict[str, Any]) -> ExecutorAdded:
    info = document["Executor Info"]
    node = info.get("Attributes", {}).get(NODE, info["Host"])
    return ExecutorAdded(
        executor=document["Executor ID"],
        host=node,
        address="" if node == info["Host"] else info["Host"],
        cores=info["Total Cores"],
        time=document["Timestamp"] / 1e3,
    )


def _executor_removed(document: dict[str, Any]) -> ExecutorRemoved:
    return ExecutorRemoved(
        executor=document["Executor ID"], reason=document["Removed Reason"], time=document["Timestamp"] / 1e3
    )


def _progress(document: dict[str, Any]) -> QueryProgress:
    found = document["progress"]
    sources, duration = found["sources"], found["durationMs"]
    return QueryProgress(
        query=found["id"],
        run=found["runId"],
        name=found.get("name") or "",
        batch=found["batchId"],
        begin=_epoch(found["timestamp"]),
        rows=sum(each["numInputRows"] for each in sources),
        done=_sum(sources, "processedRowsPerSecond"),
        seconds=duration.get("triggerExecution", 0) / 1e3,
        add=duration.get("addBatch", 0) / 1e3,
        observed=FrozenMap(found.get("observedMetrics") or {}),
        behind=rows_behind(sources),
        state=tuple(_state_bytes(each) for each in found.get("stateOperators") or ()),
    )


def _state_bytes(operator: dict[str, Any]) -> float:
    """Bytes that a node loads which takes all of it: RocksDB's files, or of the store in memory what is there."""
    files = (operator.get("customMetrics") or {}).get("rocksdbSstFileSize")
    return float(operator.get("memoryUsedBytes", 0) if files is None else files)


def _epoch(timestamp: str) -> float:
    """Spark writes UTC with a Z, which Python reads from 3.11 on."""
    return datetime.fromisoformat(timestamp).timestamp()


def _sum(sources: list[dict[str, Any]], name: str) -> float:
    """Rates that Spark could not compute are missing or NaN, which is a text in its JSON."""
    rates = [float(each.get(name) or 0.0) for each in sources]
    return sum(rate for rate in rates if math.isfinite(rate))


def _query_ended(document: dict[str, Any]) -> QueryEnded:
    return QueryEnded(query=document["id"], run=document["runId"], reason=document.get("exception") or "")


_QUERY = "org.apache.spark.sql.streaming.StreamingQueryListener$"

_READERS: dict[str, Callable[[dict[str, Any]], Event]] = {
    "SparkListenerTaskEnd": _task_end,
    "SparkListenerJobStart": _job_start,
    "SparkListenerJobEnd": _job_end,
    "SparkListenerStageCompleted": _stage_completed,
    "SparkListenerExecutorAdded": _executor_added,
    "SparkListenerExecutorRemoved": _executor_removed,
    f"{_QUERY}QueryProgressEvent": _progress,
    f"{_QUERY}QueryTerminatedEvent": _query_ended,
}


def rows_behind(sources: Iterable[Mapping[str, Any]]) -> int | None:
    """Rows that sources have beyond the end of a batch; None if no source says it in rows.

    Only offsets by topic and partition (Kafka) count rows; those of other sources are seconds or files.

    Args:
        sources: Of one batch, as Spark reports them.
    """
    pairs = [(_offsets(each.get("latestOffset")), _offsets(each.get("endOffset"))) for each in sources]
    found = [
        sum(latest.values()) - sum(end.values()) for latest, end in pairs if latest and latest.keys() == end.keys()
    ]
    return sum(found) if found else None


def _offsets(offset: Any) -> dict[tuple[str, str], int]:
    """Offsets by topic and partition, of an object or its text; none of any other."""
    if isinstance(offset, str):
        try:
            offset = json.loads(offset)
        except ValueError:
            return {}
    if not isinstance(offset, dict) or not all(isinstance(each, dict) for each in offset.values()):
        return {}
    found = {(topic, part): at for topic, parts in offset.items() for part, at in parts.items()}
    return found if all(type(at) is int for at in found.values()) else {}

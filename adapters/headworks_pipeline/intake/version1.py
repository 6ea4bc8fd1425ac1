"""Version 1 of the samples, which Storm's monitor alone wrote, in the columns of version 2.

Amounts were sums over the window. A row was a worker, an executor, one of Storm's tasks or a flow between two of them;
`name` was the task's id in the model, the same for all of Storm's tasks in one executor.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import functions as f

from headworks.samples.rows import COLUMNS, VERSION
from headworks_pipeline.intake.columns import PLACE, SPARK_TYPES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column, DataFrame

KEYS = ("hour", "moment", "engine", "origin", "number", "start", "end", "topology", "node", "port", "seconds")
"""Key of a worker's report: rows of one model task in it are added up."""
PARTS = ("hour", "kind", "origin", "number", "task", "target")
"""Key of a row among Storm's own tasks, by which a report that came twice counts once."""


def present_columns(first: DataFrame) -> DataFrame:
    """Rows of version 1 as rows of version 2, `hour`, `file` and `row` kept; reports that came twice count once."""
    node = f.coalesce("supervisor", "host")
    # Version 1 had the end of a window and its length.
    micros = (f.col("time").cast("double") - f.col("window")).cast("timestamp")
    rows = first.select(
        *(name for name, _ in PLACE),
        *("kind", "topology", "number", "port", "task", "name", "target", "target_name"),
        *("cpu", "heap", "queue", "received", "emitted", "acked", "latencies", "latency", "tuples", "bytes"),
        f.lit("storm").alias("engine"),
        f.concat_ws(":", "topology", node, "port", "started").alias("origin"),
        node.alias("node"),
        f.col("time").alias("end"),
        micros.alias("start"),
        f.col("window").alias("seconds"),
    )
    # Where two differ, the one counts whose columns come last in order: whichever file it is in.
    others = [name for name in rows.columns if name not in PARTS]
    rows = rows.groupBy(*PARTS).agg(f.max(f.struct(*others)).alias("last")).select(*PARTS, "last.*")
    kinds = (_tasks(rows), _flows(rows), _nodes(rows), _topologies(rows))
    return reduce(lambda one, other: one.unionByName(other), kinds)


def _tasks(rows: DataFrame) -> DataFrame:
    some = rows.where(f.col("kind").isin("executor", "task")).groupBy(*KEYS, "name")
    sums = some.agg(
        *_first_place(),
        # Sums over the window become rates: CPU seconds are points (100 is one core), tuples are tuples per second.
        (100 * f.sum("cpu") / f.col("seconds")).alias("cpu"),
        (f.sum("received") / f.col("seconds")).alias("received"),
        (f.sum("emitted") / f.col("seconds")).alias("emitted"),
        f.avg("queue").alias("queue"),
    )
    names = {"task": f.col("name"), "component": _component("name"), "source": f.lit("thread")}
    return _arranged(sums, "task", names, ("cpu", "received", "emitted", "queue"))


def _flows(rows: DataFrame) -> DataFrame:
    some = rows.where("kind = 'flow'").groupBy(*KEYS, "name", "target_name")
    sums = some.agg(
        *_first_place(),
        (f.sum("tuples") / f.col("seconds")).alias("tuples"),
        (f.sum("bytes") / f.col("seconds")).alias("bytes"),
    )
    names = {
        "task": f.col("name"),
        "component": _component("name"),
        "target": f.col("target_name"),
        "target_component": _component("target_name"),
    }
    return _arranged(sums, "flow", names, ("tuples", "bytes"))


def _nodes(rows: DataFrame) -> DataFrame:
    some = rows.where("kind = 'worker'").withColumns(
        {"cpu": 100 * f.col("cpu") / f.col("seconds"), "memory": f.col("heap")}
    )
    return _arranged(some, "node", {"source": f.lit("worker processes")}, ("cpu", "memory"), topology=False)


def _topologies(rows: DataFrame) -> DataFrame:
    sums = (
        rows.where("kind = 'task'")
        .groupBy(*KEYS)
        .agg(
            *_first_place(),
            (f.sum("acked") / f.col("seconds")).alias("throughput"),
            (f.sum("latency") / f.sum("latencies")).alias("latency"),
        )
    )
    return _arranged(sums, "topology", {"source": f.lit("acked")}, ("throughput", "latency"), node=False)


def _first_place() -> list[Column]:
    """File and row of rows that are added up: the first, for they may lie in several files."""
    return [f.min(name).alias(name) for name in ("file", "row")]


def _component(name: str) -> Column:
    """Component of a task id: all between the topology's id and the last slash, for components may have slashes."""
    inner = f.expr(f"substring({name}, length(topology) + 2)")
    return f.when(f.col(name).isNotNull(), f.regexp_extract(inner, r"^(.*)/[0-9]+$", 1))


def _arranged(
    rows: DataFrame, kind: str, names: Mapping[str, Column], amounts: tuple[str, ...], **kept: bool
) -> DataFrame:
    """One kind of rows in all columns of the present version."""
    own = {"version": f.lit(VERSION), "kind": f.lit(kind), **names}
    there = {"engine", "origin", "number", "start", "end", "topology", "node", "port", *amounts}
    there -= {name for name, keep in kept.items() if not keep}
    columns = [
        (own[name] if name in own else f.col(name) if name in there else f.lit(None))
        .cast(SPARK_TYPES[type_])
        .alias(name)
        for name, type_ in COLUMNS.items()
    ]
    return rows.select(*columns, *(name for name, _ in PLACE))

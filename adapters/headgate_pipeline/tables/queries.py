"""Clean rows, summed up by hour: all that knowledge is made of. Sums and counts, so that hours add up.

| table | one row for | columns |
|---|---|---|
| cells | a component, machine type, way of measuring, and cell of (rate, CPU) | n, sums of rate, CPU, squares |
| levels | a component, machine type, resource and level | n, peak |
| sums | a task on a node, or a flow | for each amount, its sum weighted by seconds, and these seconds |
| windows | a node or a topology in a minute | what all its workers measured together |
| quarantine | a row that is not used | reason, file, content |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as f

from headgate_pipeline.intake.columns import PLACE
from headgate_pipeline.tables.clean import DUPLICATE
from headgate_pipeline.tables.histogram import NOTHING, RATE_STEPS, STEPS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

GROUP = ("hour", "topology", "component", "machine_type")
"""Columns of every group: an hour's tables depend on no other hour."""
WEIGHTED = ("cpu", "memory", "received", "emitted", "queue", "tuples", "bytes", "rate")
"""Amounts that are averaged by the seconds of their windows."""
MINUTE = 60
"""Seconds of a row of `windows`: if larger, the health of nodes sees shorter silences no more; if smaller, monitors
that report once a minute leave gaps."""


def prepared(rows: DataFrame) -> DataFrame:
    """Rows that are used, with `seconds`, a machine type that is never null, and the `rate` that CPU depends on.

    That is what a bolt receives and a spout emits; where the role is not known, what is received if anything is.
    """
    fed = "case when received > 0 then received else coalesce(emitted, received) end"
    kept = [f"`{name}`" for name in rows.columns if name not in {"machine_type", "source", "reason"}]
    return rows.where("reason is null").selectExpr(
        *kept,
        "cast(`end` as double) - cast(`start` as double) as seconds",
        "coalesce(machine_type, '') as machine_type",
        "coalesce(source, '') as source",
        f"case role when 'bolt' then received when 'spout' then emitted else {fed} end as rate",
    )


def level(amount: str, steps: int) -> str:
    """SQL of an amount's level: 1.0 is in the middle of level 0; `NOTHING` for zero.

    Args:
        amount: SQL of the amount.
        steps: Levels to an octave.
    """
    number = f"floor({steps} * log2({amount}) + 0.5)"
    return f"cast(case when {amount} > 0 then {number} else {NOTHING} end as int)"


def _sums(rows: DataFrame, keys: tuple[str, ...], columns: Mapping[str, str]) -> DataFrame:
    """Aggregates by name, for each combination of the keys."""
    return rows.groupBy(*keys).agg(*(f.expr(each).alias(name) for name, each in columns.items()))


def cells(rows: DataFrame) -> DataFrame:
    """Sums for a regression of CPU on the rate, by cells in which no row is far from another."""
    some = rows.where("kind = 'task' and cpu is not null and rate is not null").selectExpr(
        *(*GROUP, "source", "rate", "cpu", "received", "emitted"),
        f"{level('rate', RATE_STEPS)} as x",
        f"{level('cpu', STEPS)} as y",
    )
    sums = {"n": "count(1)", "sx": "sum(rate)", "sy": "sum(cpu)", "peak": "max(cpu)"}
    squares = {"sxx": "sum(rate * rate)", "sxy": "sum(rate * cpu)", "syy": "sum(cpu * cpu)"}
    # alpha = emitted / received, over rows that have both: a sum over others would be of different time.
    both = {
        "received": "sum(case when emitted is not null then received end)",
        "emitted": "sum(case when received is not null then emitted end)",
    }
    return _sums(some, (*GROUP, "source", "x", "y"), sums | squares | both)


def levels(rows: DataFrame) -> DataFrame:
    """Histogram of memory and queue lengths of tasks."""
    some = rows.where("kind = 'task' and (memory is not null or queue is not null)")
    each = some.selectExpr(*GROUP, "stack(2, 'memory', memory, 'queue', queue) as (resource, amount)")
    counted = each.where("amount is not null").selectExpr("*", f"{level('amount', STEPS)} as y")
    return _sums(counted, (*GROUP, "resource", "y"), {"n": "count(1)", "peak": "max(amount)"})


def sums(rows: DataFrame) -> DataFrame:
    """Tasks and flows: an average over any hours is the sum of `s_*` over that of `w_*`."""
    some = rows.where("kind in ('task', 'flow')")
    amounts = {name: "case when cpu is not null then rate end" if name == "rate" else name for name in WEIGHTED}
    weighted = {f"s_{name}": f"sum({each} * seconds)" for name, each in amounts.items()}
    seconds = {f"w_{name}": f"sum(case when {each} is not null then seconds end)" for name, each in amounts.items()}
    keys = (*GROUP, "kind", "task", "target", "target_component", "node")
    return _sums(some, keys, {"n": "count(1)", "seconds": "sum(seconds)", **weighted, **seconds})


def windows(rows: DataFrame) -> DataFrame:
    """Nodes and topologies minute by minute: means of each worker's share, added up."""
    some = rows.where("kind in ('node', 'topology')").selectExpr(
        *("hour", "kind", "machine_type", "port", "cpu", "memory", "offered", "throughput", "latency"),
        "case kind when 'node' then node else topology end as subject",
        f"cast(floor(cast(`end` as double) / {MINUTE}) as bigint) as minute",
        "latency * coalesce(throughput, 0) as late",
        "case when latency is not null then coalesce(throughput, 0) end as weight",
    )
    keys = ("hour", "kind", "subject", "machine_type", "minute")
    amounts = ("cpu", "memory", "offered", "throughput", "late", "weight", "latency")
    # Several workers report a node, or a topology: the mean of each one's windows in the minute, then the sum over
    # them.
    shares = _sums(some, (*keys, "port"), {name: f"avg({name})" for name in amounts})
    totals = {name: f"sum({name})" for name in ("cpu", "memory", "offered", "throughput")}
    # Latency is weighted by throughput; where nobody completed anything, the plain mean.
    latency = "coalesce(sum(late) / nullif(sum(weight), 0), avg(latency))"
    return _sums(shares, keys, {**totals, "latency": latency})


def quarantine(rows: DataFrame) -> DataFrame:
    """Rows with a reason other than that they came before."""
    added = {*(name for name, _ in PLACE), "reason", "sample"}
    content = ", ".join(f"`{name}`" for name in rows.columns if name not in added)
    return rows.where(f"reason != '{DUPLICATE}'").selectExpr(
        "hour", "reason", "file", f"to_json(struct({content})) as content"
    )

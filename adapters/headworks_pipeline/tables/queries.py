"""Clean rows, summed up by hour: all that knowledge is made of. Sums and counts, so that hours add up.

| table | one row for | columns |
|---|---|---|
| cells | a component, machine type, way of measuring, and cell of (rate, CPU) | n, sums of rate, CPU, squares |
| levels | a component, machine type, resource and level | n, peak |
| sums | a task on a node, a flow, an even stream | for each amount, its sum weighted by seconds, and these seconds |
| windows | a node or a topology in a minute | what all its workers measured together |
| quarantine | a row that is not used | reason, file, content |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headworks.samples.rows import COLUMNS
from headworks_pipeline.tables.histogram import NOTHING, RATE_STEPS, STEPS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

GROUP = ("hour", "topology", "component", "machine_type")
"""Columns of every group: an hour's tables depend on no other hour."""
WEIGHTED = ("cpu", "memory", "received", "emitted", "queue", "tuples", "bytes", "rate")
"""Amounts that are averaged by the seconds of their windows."""
MINUTE = 60
"""Seconds of a row of `windows`."""
SPARK_PAIRS = "stack(2, 'memory', memory, 'queue', queue) as (resource, amount)"
DUCKDB_PAIRS = "unnest(['memory', 'queue']) as resource, unnest([memory, queue]) as amount"
"""Two rows of each, one for memory and one for the queue, in the words of each engine."""


def prepared(rows: str) -> str:
    """SQL of rows that are used, with `seconds`, a machine type that is never null, and the `rate` CPU depends on.

    That is what a bolt receives and a spout emits; where the role is not known, what is received if anything is.

    Args:
        rows: Name of the rows, which have a `reason`.
    """
    fed = "case when received > 0 then received else coalesce(emitted, received) end"
    kept = ", ".join(f"`{name}`" for name in COLUMNS if name not in {"machine_type", "source"})
    return (
        f"select hour, {kept}, cast(`end` as double) - cast(`start` as double) as seconds, "
        "coalesce(machine_type, '') as machine_type, coalesce(source, '') as source, "
        f"case role when 'bolt' then received when 'spout' then emitted else {fed} end as rate "
        f"from {rows} where reason is null"
    )


def level(amount: str, steps: int) -> str:
    """SQL of an amount's level: 1.0 is in the middle of level 0; `NOTHING` for zero.

    Args:
        amount: SQL of the amount.
        steps: Levels to an octave.
    """
    number = f"floor({steps} * log2({amount}) + 0.5)"
    return f"cast(case when {amount} > 0 then {number} else {NOTHING} end as int)"


def tables(used: str, pairs: str) -> dict[str, str]:
    """SQL of each table that is made of rows that are used.

    Args:
        used: Name of these rows, as `prepared` makes them.
        pairs: `SPARK_PAIRS` or `DUCKDB_PAIRS`.
    """
    return {"cells": cells(used), "levels": levels(used, pairs), "sums": sums(used), "windows": windows(used)}


def _grouped(rows: str, keys: Iterable[str], columns: Mapping[str, str]) -> str:
    """SQL of aggregates by name, for each combination of the keys."""
    names = ", ".join(keys)
    return (
        f"select {names}, {', '.join(f'{sql} as {name}' for name, sql in columns.items())} from {rows} group by {names}"
    )


def cells(used: str) -> str:
    """SQL of sums for a regression of CPU on the rate, by cells in which no row is far from another."""
    some = (
        f"(select {', '.join(GROUP)}, source, rate, cpu, received, emitted, "
        f"{level('rate', RATE_STEPS)} as x, {level('cpu', STEPS)} as y "
        f"from {used} where kind = 'task' and cpu is not null and rate is not null) as chosen"
    )
    simple = {"n": "count(1)", "sx": "sum(rate)", "sy": "sum(cpu)", "peak": "max(cpu)"}
    squares = {"sxx": "sum(rate * rate)", "sxy": "sum(rate * cpu)", "syy": "sum(cpu * cpu)"}
    # alpha = emitted / received, over rows that have both: a sum over others would be of different time.
    both = {
        "received": "sum(case when emitted is not null then received end)",
        "emitted": "sum(case when received is not null then emitted end)",
    }
    return _grouped(some, (*GROUP, "source", "x", "y"), simple | squares | both)


def levels(used: str, pairs: str) -> str:
    """SQL of a histogram of memory and queue lengths of tasks.

    Args:
        used: Name of the rows.
        pairs: `SPARK_PAIRS` or `DUCKDB_PAIRS`.
    """
    group = ", ".join(GROUP)
    some = f"(select {group}, {pairs} from {used} where kind = 'task' and (memory is not null or queue is not null))"
    leveled = (
        f"(select {group}, resource, amount, {level('amount', STEPS)} as y "
        f"from {some} as pairs where amount is not null) as chosen"
    )
    return _grouped(leveled, (*GROUP, "resource", "y"), {"n": "count(1)", "peak": "max(amount)"})


def sums(used: str) -> str:
    """SQL of tasks, flows and streams: an average over any hours is the sum of `s_*` over that of `w_*`."""
    amounts = {name: "case when cpu is not null then rate end" if name == "rate" else name for name in WEIGHTED}
    weighted = {f"s_{name}": f"sum({each} * seconds)" for name, each in amounts.items()}
    seconds = {f"w_{name}": f"sum(case when {each} is not null then seconds end)" for name, each in amounts.items()}
    keys = (*GROUP, "kind", "task", "target", "target_component", "node")
    some = f"(select * from {used} where kind in ('task', 'flow', 'stream')) as chosen"
    return _grouped(some, keys, {"n": "count(1)", "seconds": "sum(seconds)", **weighted, **seconds})


def windows(used: str) -> str:
    """SQL of nodes and topologies minute by minute: means of each worker's share, added up."""
    some = (
        "(select hour, kind, machine_type, port, cpu, memory, offered, throughput, latency, "
        "case kind when 'node' then node else topology end as subject, "
        f"cast(floor(cast(`end` as double) / {MINUTE}) as bigint) as minute, "
        "latency * coalesce(throughput, 0) as late, "
        "case when latency is not null then coalesce(throughput, 0) end as weight "
        f"from {used} where kind in ('node', 'topology')) as chosen"
    )
    keys = ("hour", "kind", "subject", "machine_type", "minute")
    amounts = ("cpu", "memory", "offered", "throughput", "late", "weight", "latency")
    # Several workers report a node, or a topology: the mean of each one's windows in the minute, then the sum over
    # them.
    shares = _grouped(some, (*keys, "port"), {name: f"avg({name})" for name in amounts})
    totals = {name: f"sum({name})" for name in ("cpu", "memory", "offered", "throughput")}
    # Latency is weighted by throughput; where nobody completed anything, the plain mean.
    latency = "coalesce(sum(late) / nullif(sum(weight), 0), avg(latency))"
    return _grouped(f"({shares}) as shares", keys, {**totals, "latency": latency})

"""The tables of the pipeline by plain DuckDB: a yardstick of what they cost, `python -m ... SAMPLES OUTPUT`.

Ranges are checked, and samples that came twice are looked for, key by key. Left out are all other reasons (tasks that
no state knows, clocks that jump, half-written files, other versions), the quarantine, commits, late files, knowledge.
"""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb

AMOUNTS = ("cpu", "memory", "received", "emitted", "queue", "tuples", "bytes", "offered", "throughput", "latency")
WEIGHTED = AMOUNTS[:7]
KEY = "hour, kind, engine, origin, number, topology, task, target, node, port"
GROUP = "hour, topology, component, coalesce(machine_type, '') as machine_type"
GOOD = f"""
create view good as select *, date_trunc('hour', "end") as hour, epoch("end") - epoch("start") as seconds,
    case role when 'spout' then emitted else received end as rate
from read_parquet($files, hive_partitioning = false)
where version = 1 and "start" < "end" and "end" - "start" <= interval 1 hour
    and coalesce(greatest({", ".join(AMOUNTS)}) <= 1e30, true) and coalesce(least({", ".join(AMOUNTS)}) >= 0, true)
"""
LEVEL = "case when {0} > 0 then floor({1} * log2({0}) + 0.5) else -100000 end::int"
CELLS = f"""
select {GROUP}, coalesce(source, '') as source, {LEVEL.format("rate", 4)} as x, {LEVEL.format("cpu", 32)} as y,
    count(*) as n, sum(rate) as sx, sum(cpu) as sy, max(cpu) as peak,
    sum(rate * rate) as sxx, sum(rate * cpu) as sxy, sum(cpu * cpu) as syy,
    sum(received) filter (emitted is not null) as received, sum(emitted) filter (received is not null) as emitted
from good where kind = 'task' and cpu is not null and rate is not null group by all
"""
LEVELS = f"""
select {GROUP}, resource, {LEVEL.format("amount", 32)} as y, count(*) as n, max(amount) as peak
from (select *, unnest(['memory', 'queue']) as resource, unnest([memory, queue]) as amount from good
    where kind = 'task') where amount is not null group by all
"""
SUMS = f"""
select {GROUP}, kind, task, target, target_component, node, count(*) as n, sum(seconds) as seconds,
    {", ".join(f"sum({name} * seconds) as s_{name}" for name in WEIGHTED)},
    sum(rate * seconds) filter (cpu is not null) as s_rate,
    {", ".join(f"sum(seconds) filter ({name} is not null) as w_{name}" for name in WEIGHTED)},
    sum(seconds) filter (cpu is not null and rate is not null) as w_rate
from good where kind in ('task', 'flow', 'stream') group by all
"""
WINDOWS = """
select hour, kind, subject, machine_type, minute, sum(cpu) as cpu, sum(memory) as memory, sum(offered) as offered,
    sum(throughput) as throughput, coalesce(sum(late) / nullif(sum(weight), 0), avg(latency)) as latency
from (select hour, kind, case kind when 'node' then node else topology end as subject, machine_type, port,
        floor(epoch("end") / 60)::bigint as minute, avg(cpu) as cpu, avg(memory) as memory, avg(offered) as offered,
        avg(throughput) as throughput, avg(latency) as latency, avg(latency * coalesce(throughput, 0)) as late,
        avg(case when latency is not null then coalesce(throughput, 0) end) as weight
    from (select * replace (coalesce(machine_type, '') as machine_type) from good where kind in ('node', 'topology'))
    group by all) group by all
"""
TABLES = {"cells": CELLS, "levels": LEVELS, "sums": SUMS, "windows": WINDOWS}


def write_tables(samples: Path, output: Path, memory: str = "1GiB") -> None:
    """Write `TABLE/hour=.../*.parquet` of all samples of a folder.

    Args:
        samples: The folder.
        output: A folder that is there.
        memory: Bound of DuckDB's memory.

    Raises:
        ValueError: A sample came twice.
    """
    files = str(samples / "day=*" / "hour=*" / "*.parquet").replace("'", "''")
    with duckdb.connect() as base:
        base.execute(f"set memory_limit = '{memory}'; set TimeZone = 'UTC'; set preserve_insertion_order = false")
        base.execute(GOOD.replace("$files", f"'{files}'"))
        twice = base.execute(f"select {KEY} from good group by all having count(*) > 1 limit 1").fetchall()
        if twice:
            raise ValueError(f"{twice[0]} came twice")
        for name, query in TABLES.items():
            place = str(output / name).replace("'", "''")
            base.execute(f"copy ({query}) to '{place}' (format parquet, partition_by (hour))")


if __name__ == "__main__":
    write_tables(Path(sys.argv[1]), Path(sys.argv[2]))

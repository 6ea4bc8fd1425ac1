"""The pipeline on Spark beside DuckDB: the same files, the same sums, one after the other on this machine.

    python -m headworks_lab.benchmarks.pipeline [--rows 1000000 --rows 10000000] [--driver-memory 1g] [--samples FOLDER]

`spark` and `backend` are `headworks pipeline run` as a user starts it, on Spark and on DuckDB: cleaning, five tables,
documents. `duckdb` is one statement each for cells and for sums, on rows cleaned by the same rules but for jumps of the
clock and unknown tasks.
CPU is that of all processes of a part, memory the peak of the largest.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from headworks_pipeline.synthetic import Plant

PLANT = Plant(tasks=20, nodes=10)
PR_SET_CHILD_SUBREAPER = 36
PROGRAM = Path(sys.executable).parent / "headworks"
AMOUNTS = ("cpu", "memory", "received", "emitted", "queue", "tuples", "bytes")
DUCK = """
import duckdb, sys
base = duckdb.connect()
base.execute("set threads = 2")
base.execute('''create table good as select * exclude ("start"), epoch("end") - epoch("start") as seconds,
    case role when 'spout' then emitted else received end as rate, date_trunc('hour', "end") as moment
  from read_parquet(?, hive_partitioning = false) where version = 2 and "start" < "end"
  and greatest({amounts}) < 1e30 and least({amounts}) >= 0 or kind in ('node', 'topology')
  qualify row_number() over (partition by kind, origin, number, task, target, node) = 1''', [sys.argv[1]])
base.execute('''create table cells as select moment, topology, component, machine_type, source,
    floor(4 * log2(rate) + 0.5) as x, floor(32 * log2(cpu) + 0.5) as y, count(*) as n,
    sum(rate), sum(cpu), sum(rate * rate), sum(rate * cpu), sum(cpu * cpu)
  from good where kind = 'task' and cpu is not null group by all''')
base.execute('''create table sums as select moment, kind, topology, component, task, target, target_component,
    node, machine_type, sum(seconds), {sums} from good where kind in ('task', 'flow') group by all''')
print(base.execute("select sum(n) from cells").fetchone()[0])
"""


def adopt_orphans() -> None:
    """Let the JVM, which outlives the Python that started it, end as a child of this process, and so be counted."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def timed(command: list[str]) -> tuple[float, float, float]:
    """Wall seconds, CPU seconds of all processes, and MB at the peak of the largest."""
    start, cpu, memory, code = time.perf_counter(), 0.0, 0.0, 0
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status, usage = os.wait4(-1, 0)
            cpu += usage.ru_utime + usage.ru_stime
            memory = max(memory, usage.ru_maxrss / 1024)
            if pid == process.pid:
                code = process.returncode = os.waitstatus_to_exitcode(status)
    if code:
        raise SystemExit(f"{' '.join(command[:4])} ended with {code}")
    return time.perf_counter() - start, cpu, memory


def duck(samples: Path) -> list[str]:
    """DuckDB in a process of its own."""
    sums = ", ".join(f"sum({name} * seconds)" for name in AMOUNTS)
    script = DUCK.replace("{amounts}", ", ".join(AMOUNTS)).replace("{sums}", sums)
    return [sys.executable, "-c", script, str(samples / "day=*" / "hour=*" / "*.parquet")]


def main() -> None:
    """Print a row for each size and engine."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, action="append")
    parser.add_argument("--driver-memory", default="1g")
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--samples", type=Path, help="Keep the rows in this folder, and use those that are there.")
    parser.add_argument("--engine", choices=("duckdb", "backend", "spark"), action="append")
    asked = parser.parse_args()
    adopt_orphans()
    print(f"{'rows':>12} {'engine':>8} {'wall s':>8} {'CPU s':>8} {'MB':>7} {'M rows/CPU s':>13}")
    for rows in asked.rows or [1_000_000, 10_000_000]:
        with tempfile.TemporaryDirectory() as folder:
            samples = (asked.samples or Path(folder)) / f"rows-{rows}"
            count = rows // PLANT.rows * PLANT.rows
            if not samples.exists():
                PLANT.write(samples, windows=rows // PLANT.rows)
            run = [str(PROGRAM), "pipeline", "run", str(samples), "--json", "-O"]
            parts = {
                "duckdb": duck(samples),
                "backend": [*run, f"{folder}/backend", "--backend", "duckdb", "--driver-memory", asked.driver_memory],
                "spark": [*run, f"{folder}/spark", "--driver-memory", asked.driver_memory, "--master", asked.master],
            }
            for name in asked.engine or parts:
                wall, cpu, memory = timed(parts[name])
                print(
                    f"{count:12,} {name:>8} {wall:8.1f} {cpu:8.1f} {memory:7.0f} {count / cpu / 1e6:13.4f}", flush=True
                )


if __name__ == "__main__":
    main()

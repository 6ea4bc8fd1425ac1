"""The pipeline beside plain DuckDB: the same samples, one after the other on this machine, and CPU as ratios.

    python -m headworks_lab.benchmarks.pipeline [--hours 17 --hours 168] [--part plain --part first ...]

`plain` makes the four tables by a script (`plain_tables`). All others are `headworks pipeline run` as a user starts it,
with knowledge and request: `first` on DuckDB, `spark` the same on Spark, `no news` on DuckDB again, and `new hour`
after one more hour has come. `s3a` is `spark` with samples and results in a bucket, and `kafka` is `headworks pipeline
receive` from a topic, each on a server of this machine, whose CPU does not count. `year` learns from 8,760 hours of
such tables with `--history 8760`; it needs the parts before it. CPU is that of all processes of a part, memory the peak
of the largest. A path reads as many rows a second and core as it reads in a second of CPU.
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
from datetime import timedelta
from pathlib import Path

import psutil

from headworks_lab.benchmarks.long_history import lengthen
from headworks_lab.benchmarks.pipeline_sources import bucket, topic
from headworks_pipeline.synthetic import START, Plant

PLANT = Plant(tasks=4, nodes=48, period=60.0, topologies=21)
"""126 groups: 21 topologies of 3 components on 2 machine types; 59,580 rows an hour."""
PER_HOUR, YEAR = 60, 8760
"""Windows of an hour, and hours of a year."""
BEGIN = START - timedelta(hours=YEAR)
"""The first hour: no hour is ahead of the clock."""
PR_SET_CHILD_SUBREAPER = 36
PROGRAM = Path(sys.executable).parent / "headworks"
PARTS = ("plain", "first", "spark", "s3a", "kafka", "no news", "new hour", "year", "year no news", "year new hour")
ALL_ROWS = PARTS[:5]
"""Parts that read each row."""


def adopt_orphans() -> None:
    """Let the JVM, which outlives the Python that started it, end as a child of this process, and so be counted."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def children() -> set[int]:
    return {each.pid for each in psutil.Process().children()}


def timed(command: list[str]) -> tuple[float, float, float]:
    """Wall seconds, CPU seconds of all processes, and MB at the peak of the largest."""
    servers = children()
    start, cpu, memory, code = time.perf_counter(), 0.0, 0.0, 0
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    with contextlib.suppress(ChildProcessError):
        while children() - servers:
            pid, status, usage = os.wait4(-1, 0)
            cpu += usage.ru_utime + usage.ru_stime
            memory = max(memory, usage.ru_maxrss / 1024)
            if pid == process.pid:
                code = process.returncode = os.waitstatus_to_exitcode(status)
    if code:
        raise SystemExit(f"{' '.join(command[:4])} ended with {code}")
    return time.perf_counter() - start, cpu, memory


def measure(hours: int, folder: Path, asked: argparse.Namespace) -> None:
    """Print a row for each part.

    Args:
        hours: Hours of samples.
        folder: An empty folder.
        asked: Parts, memory and master.
    """
    samples, duck = folder / "samples", folder / "duck"
    rows = PLANT.write(samples, windows=hours * PER_HOUR, start=BEGIN)
    memory_of, run = ["--driver-memory", asked.driver_memory, "--json"], [str(PROGRAM), "pipeline", "run"]
    spark = [*memory_of, "--master", asked.master]
    on_duck = [*run, str(samples), "-O", str(duck), *memory_of, "--backend", "duckdb"]
    commands = {
        "plain": [sys.executable, "-m", "headworks_lab.benchmarks.plain_tables", str(samples), str(folder)],
        "spark": [*run, str(samples), "-O", str(folder / "spark"), *spark],
    }
    plain = 0.0
    for part in asked.part or PARTS:
        if part == "year":
            lengthen(samples, duck, YEAR)
            hours, on_duck = YEAR, [*on_duck, "--history", str(YEAR)]
        if part.endswith("new hour"):
            PLANT.write(samples, windows=PER_HOUR, seed=1, start=BEGIN + timedelta(hours=hours))
        with contextlib.ExitStack() as servers:
            if part == "s3a":
                commands[part] = [*run, *servers.enter_context(bucket(samples)), *spark]
            if part == "kafka":
                words = servers.enter_context(topic(samples, folder / "received"))
                commands[part] = [*run[:-1], "receive", *words, *spark]
            wall, cpu, memory = timed(commands.get(part, on_duck))
        plain = cpu if part == "plain" else plain
        ratio = f"{cpu / plain:6.2f}" if plain else ""
        speed = f"{rows / cpu:12,.0f}" if part in ALL_ROWS else ""
        print(f"{hours:6} {part:>13} {wall:8.1f} {cpu:8.2f} {ratio:>6} {memory:7.0f} {speed:>12}", flush=True)


def main() -> None:
    """Print a row for each size and part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=int, action="append")
    parser.add_argument("--driver-memory", default="1g")
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--part", choices=PARTS, action="append")
    asked = parser.parse_args()
    adopt_orphans()
    print(f"{'hours':>6} {'part':>13} {'wall s':>8} {'CPU s':>8} {'/plain':>6} {'MB':>7} {'rows/CPU s':>12}")
    for hours in asked.hours or [17, 168]:
        with tempfile.TemporaryDirectory() as folder:
            measure(hours, Path(folder), asked)


if __name__ == "__main__":
    main()

"""Policies beside Spark alone, on applications of usual shapes: executor-seconds, seconds of jobs, state moved.

    python -m headworks_lab.benchmarks.spark.policies [--rounds N] [--shapes NAME ...] [--scale S]

`spark-submit` starts each application with the jar and a policy, and as Spark comes, in turn. Spark's event log is the
witness. The shapes of TPC-H need the package `tpchgen-cli`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import groupby, pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import attrs

from headworks.cli.output import console, table
from headworks_lab.benchmarks.spark import policy_shapes, tpch_queries
from headworks_spark.driver.jar import PLACEMENT, scheduler_jar, spark_home
from headworks_spark.local.cluster import LocalSpark, worker_specs

CORES = (4, 4, 4)
SETTINGS = {
    "spark.executor.memory": "600m",
    "spark.sql.shuffle.partitions": str(policy_shapes.PARTITIONS),
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.eventLog.enabled": "true",
    "spark.eventLog.rolling.enabled": "false",
    "spark.eventLog.compress": "false",
    "spark.ui.enabled": "false",
}
DEATHS = (4, 12, 20)
"""Batches after which an executor dies."""
COLUMNS = ("shape", "policy", "rounds", "executor s", "jobs", "median job s", "whole s", "state moved", "fullest")


def _dynamic(idle: str) -> dict[str, str]:
    """Settings of dynamic allocation; Spark keeps executors with shuffle files for ever if no time is said for them."""
    own = {"enabled": "true", "minExecutors": "1", "executorIdleTimeout": idle}
    tracking = {"shuffleTracking.enabled": "true", "shuffleTracking.timeout": idle}
    return {f"spark.dynamicAllocation.{name}": value for name, value in (own | tracking).items()}


@attrs.frozen
class Shape:
    """An application, the policy that is for it, settings, cores of an executor; if executors die in the middle."""

    policy: str
    module: ModuleType
    words: tuple[str, ...]
    settings: dict[str, str] = attrs.field(factory=dict)
    cores: int = 2
    dies: bool = False


SHAPES = {
    "nightly": Shape("binpack", policy_shapes, ("nightly",), _dynamic("3s")),
    "exports": Shape(
        "binpack", policy_shapes, ("exports",), {**_dynamic("5s"), "spark.scheduler.mode": "FAIR"}, cores=4
    ),
    "stream, executors die": Shape("even-state", policy_shapes, ("stream",), dies=True),
    "stream, dynamic": Shape("even-state", policy_shapes, ("stream",), _dynamic("10s")),
    "tpch": Shape("balance", tpch_queries, ("2",)),
    "tpch, dynamic": Shape("binpack", tpch_queries, ("2",), _dynamic("3s")),
}


@attrs.frozen
class Seen:
    """Figures of one run: seconds that executors lived, of jobs and of all of it; what became of a query's state."""

    lived: float
    jobs: tuple[float, ...]
    whole: float
    moved: int
    fullest: float

    @classmethod
    def of(cls, log: Path) -> Seen:
        """Read Spark's event log."""
        events = [json.loads(line) for line in log.read_text().splitlines()]
        begun, ended = (_times(events, f"SparkListenerJob{what}", "Job ID") for what in ("Start", "End"))
        added, gone = (_times(events, f"SparkListenerExecutor{what}", "Executor ID") for what in ("Added", "Removed"))
        (end,) = (each["Timestamp"] / 1e3 for each in events if each["Event"] == "SparkListenerApplicationEnd")
        first = min(begun.values())
        lived = sum(max(gone.get(each, end) - max(at, first), 0) for each, at in added.items())
        jobs = tuple(ended[each] - at for each, at in begun.items() if each in ended)
        batches = _batches(events)
        moved = sum(now[index] != was[index] for was, now in pairwise(batches) for index in now)
        loads = [[*each.values()] for each in batches]
        fullest = statistics.fmean(max(map(each.count, each)) for each in loads) if loads else 0.0
        return cls(lived, jobs, end - first, moved, fullest)


def _times(events: list[dict[str, Any]], kind: str, key: str) -> dict[object, float]:
    """Seconds of each event of a kind, by what it is about."""
    names = ("Submission Time", "Completion Time", "Timestamp")
    found = (each for each in events if each["Event"] == kind)
    return {each[key]: next(each[name] for name in names if name in each) / 1e3 for each in found}


def _batches(events: list[dict[str, Any]]) -> list[dict[int, str]]:
    """The executor that each partition of a streaming query's state ended on, batch after batch."""
    jobs = (each for each in events if each["Event"] == "SparkListenerJobStart")
    stages = {max(job["Stage IDs"]) for job in jobs if "sql.streaming.queryId" in job["Properties"]}
    ran: dict[int, dict[int, str]] = {}
    for each in events:
        if each["Event"] == "SparkListenerTaskEnd" and each["Stage ID"] in stages and not each["Task Info"]["Failed"]:
            ran.setdefault(each["Stage ID"], {})[each["Task Info"]["Index"]] = each["Task Info"]["Executor ID"]
    return [ran[stage] for stage in sorted(ran) if len(ran[stage]) == policy_shapes.PARTITIONS]


def submitted(cluster: LocalSpark, shape: Shape, policy: str, data: Path) -> Seen:
    """Run an application with a policy, or as Spark comes if that is empty.

    Raises:
        CalledProcessError: It failed; what it said is on stderr.
    """
    with tempfile.TemporaryDirectory() as folder:
        logs, script, said = Path(folder, "logs"), Path(folder, "application.py"), Path(folder, "said")
        logs.mkdir()
        script.write_text(Path(str(shape.module.__file__)).read_text())  # its folder would be a place of modules
        where = str(data) if shape.module is tpch_queries else folder
        command = [*_command(cluster, shape, policy, logs), str(script), *shape.words, where]
        with said.open("w") as out:
            env = os.environ | {"PYSPARK_PYTHON": sys.executable}
            process = subprocess.Popen(command, env=env, stdout=out, stderr=out)
            try:
                if shape.dies:
                    _kill(cluster, process, Path(folder, "state", "commits"))
                process.wait()
            finally:
                process.kill()  # a benchmark that is interrupted leaves no application behind
        if process.returncode:
            sys.stderr.write(said.read_text())
            raise subprocess.CalledProcessError(process.returncode, command)
        (log,) = logs.iterdir()
        return Seen.of(log)


def _command(cluster: LocalSpark, shape: Shape, policy: str, logs: Path) -> list[str]:
    cores = {"spark.executor.cores": str(shape.cores), "spark.cores.max": str(len(CORES) * shape.cores)}
    conf = SETTINGS | cores | shape.settings | {"spark.eventLog.dir": logs.as_uri()}
    jar = []
    if policy:
        conf |= {"spark.plugins": PLACEMENT, "spark.headworks.policy": policy}
        jar = ["--jars", str(scheduler_jar(spark_home()))]
    options = [word for name, value in conf.items() for word in ("--conf", f"{name}={value}")]
    return [str(spark_home().path / "bin" / "spark-submit"), "--master", cluster.master_url, *jar, *options]


def _kill(cluster: LocalSpark, process: subprocess.Popen[bytes], commits: Path) -> None:
    """Kill the executors of a query one after another; in place of each the Worker starts another one."""
    first: list[int] = []
    for batch in DEATHS:
        while process.poll() is None and not (commits / str(batch)).exists():
            time.sleep(0.2)
        first = first or sorted(cluster.executors())
        with contextlib.suppress(ProcessLookupError, IndexError):  # the application may have ended
            os.kill(first.pop(), signal.SIGKILL)


def _generate(folder: Path, scale: float) -> None:
    """Write the tables of TPC-H."""
    command = shutil.which("tpchgen-cli", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if command is None:
        sys.exit("the shapes of TPC-H need a generator: pip install tpchgen-cli, or choose others with --shapes")
    subprocess.run([command, "parquet", "-s", str(scale), f"--output-dir={folder}"], check=True)


def main() -> None:
    """Print a row for each run, and a table of medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--shapes", nargs="+", default=[*SHAPES], choices=[*SHAPES])
    parser.add_argument("--scale", type=float, default=0.2)
    asked, rows = parser.parse_args(), []
    with tempfile.TemporaryDirectory() as data, LocalSpark(worker_specs(CORES), timeout=600.0) as cluster:
        if any(SHAPES[each].module is tpch_queries for each in asked.shapes):
            _generate(Path(data), asked.scale)
        for number in range(asked.rounds):
            for shape in asked.shapes:
                for policy in ("", SHAPES[shape].policy)[:: -1 if number % 2 else 1]:
                    rows.append((shape, policy or "Spark alone", submitted(cluster, SHAPES[shape], policy, Path(data))))
                    print(*_words([rows[-1]]), flush=True)
    rows.sort(key=lambda each: each[:2])
    medians = [_words([*runs]) for _, runs in groupby(rows, key=lambda each: each[:2])]
    console().print(table("policies", COLUMNS, medians, numbers=COLUMNS[2:], whole=COLUMNS[:2]))


def _words(runs: list[tuple[str, str, Seen]]) -> tuple[str, ...]:
    """Medians of runs of a shape under a policy."""
    seen = [each for _, _, each in runs]
    figures = {
        "lived": f"{statistics.median(each.lived for each in seen):.0f}",
        "jobs": f"{statistics.median(len(each.jobs) for each in seen):.0f}",
        "job": f"{statistics.median(statistics.median(each.jobs) for each in seen):.3f}",
        "whole": f"{statistics.median(each.whole for each in seen):.1f}",
        "moved": f"{statistics.median(each.moved for each in seen):.0f}",
        "fullest": f"{statistics.median(each.fullest for each in seen):.2f}",
    }
    return (*runs[0][:2], str(len(runs)), *figures.values())


if __name__ == "__main__":
    main()

"""Policies beside Spark alone, on applications of three usual shapes: executor-seconds, seconds of jobs, state moved.

    python -m headworks_lab.benchmarks.spark.policies [--rounds N]

`spark-submit` starts each application with the jar and a policy, and as Spark comes, in turn. Spark's event log is the
witness.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import attrs

from headworks.cli.output import console, table
from headworks_lab.benchmarks.spark import policy_shapes
from headworks_spark.driver.jar import PLACEMENT, scheduler_jar, spark_home
from headworks_spark.local.cluster import LocalSpark, worker_specs

CORES = (2, 2, 2)
POLICY = {"nightly": "binpack", "stream": "even-state", "joins": "balance"}
"""The policy that is for a shape."""
SETTINGS = {
    "spark.executor.cores": "2",
    "spark.executor.memory": "600m",
    "spark.cores.max": "6",
    "spark.sql.shuffle.partitions": str(policy_shapes.PARTITIONS),
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.eventLog.enabled": "true",
    "spark.eventLog.rolling.enabled": "false",
    "spark.eventLog.compress": "false",
    "spark.ui.enabled": "false",
}
DYNAMIC = {
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.shuffleTracking.enabled": "true",
    "spark.dynamicAllocation.executorIdleTimeout": "3s",
}
"""Further settings of the nightly batch."""
COLUMNS = ("shape", "policy", "round", "executor s", "jobs", "median job s", "whole s", "state moved")


@attrs.frozen
class Seen:
    """Figures of one run: seconds that executors lived, of jobs and of all of it; partitions that changed executor."""

    lived: float
    jobs: tuple[float, ...]
    whole: float
    moved: int

    @classmethod
    def of(cls, log: Path) -> Seen:
        """Read Spark's event log."""
        events = [json.loads(line) for line in log.read_text().splitlines()]
        begun, ended = (_times(events, f"SparkListenerJob{what}", "Job ID") for what in ("Start", "End"))
        added, gone = (_times(events, f"SparkListenerExecutor{what}", "Executor ID") for what in ("Added", "Removed"))
        (end,) = (each["Timestamp"] / 1e3 for each in events if each["Event"] == "SparkListenerApplicationEnd")
        first = min(begun.values())
        lived = sum(gone.get(each, end) - max(at, first) for each, at in added.items())
        jobs = tuple(ended[each] - at for each, at in begun.items() if each in ended)
        return cls(lived, jobs, end - first, _moved(events))


def _times(events: list[dict[str, Any]], kind: str, key: str) -> dict[object, float]:
    """Seconds of each event of a kind, by what it is about."""
    names = ("Submission Time", "Completion Time", "Timestamp")
    found = (each for each in events if each["Event"] == kind)
    return {each[key]: next(each[name] for name in names if name in each) / 1e3 for each in found}


def _moved(events: list[dict[str, Any]]) -> int:
    """Partitions of a streaming query's state that ran on another executor than in the batch before, in sum."""
    jobs = (each for each in events if each["Event"] == "SparkListenerJobStart")
    stages = {stage for job in jobs if "sql.streaming.queryId" in job["Properties"] for stage in job["Stage IDs"]}
    ran: dict[int, dict[int, str]] = {}
    for each in events:
        if each["Event"] == "SparkListenerTaskEnd" and each["Stage ID"] in stages:
            ran.setdefault(each["Stage ID"], {})[each["Task Info"]["Index"]] = each["Task Info"]["Executor ID"]
    batches = [ran[stage] for stage in sorted(ran) if len(ran[stage]) == policy_shapes.PARTITIONS]
    return sum(now[index] != was[index] for was, now in pairwise(batches) for index in now)


def submitted(cluster: LocalSpark, shape: str, policy: str) -> Seen:
    """Run an application with a policy, or as Spark comes if that is empty.

    Raises:
        CalledProcessError: It failed; what it said is on stderr.
    """
    with tempfile.TemporaryDirectory() as folder:
        logs, script = Path(folder, "logs"), Path(folder, "application.py")
        logs.mkdir()
        script.write_text(Path(policy_shapes.__file__).read_text())  # its folder would be a place of modules
        conf = SETTINGS | (DYNAMIC if shape == "nightly" else {}) | {"spark.eventLog.dir": logs.as_uri()}
        jar = []
        if policy:
            conf |= {"spark.plugins": PLACEMENT, "spark.headworks.policy": policy}
            jar = ["--jars", str(scheduler_jar(spark_home()))]
        options = [word for name, value in conf.items() for word in ("--conf", f"{name}={value}")]
        submit = [str(spark_home().path / "bin" / "spark-submit"), "--master", cluster.master_url, *jar, *options]
        env = os.environ | {"PYSPARK_PYTHON": sys.executable}
        with Path(folder, "said").open("w+") as said:
            done = subprocess.run([*submit, str(script), shape, folder], env=env, stdout=said, stderr=said)
            if done.returncode:
                said.seek(0)
                sys.stderr.write(said.read())
            done.check_returncode()
        (log,) = logs.iterdir()
        return Seen.of(log)


def main() -> None:
    """Print a row for each run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--shapes", nargs="+", default=[*POLICY], choices=[*POLICY])
    asked, rows = parser.parse_args(), []
    with LocalSpark(worker_specs(CORES), timeout=600.0) as cluster:
        for number in range(asked.rounds):
            for shape in asked.shapes:
                for policy in ("", POLICY[shape])[:: -1 if number % 2 else 1]:
                    seen = submitted(cluster, shape, policy)
                    job = f"{statistics.median(seen.jobs):.3f}"
                    figures = (f"{seen.lived:.0f}", len(seen.jobs), job, f"{seen.whole:.1f}", seen.moved)
                    rows.append((shape, policy or "Spark alone", number + 1, *figures))
                    print(*rows[-1], flush=True)
    console().print(table("policies", COLUMNS, sorted(map(_words, rows)), numbers=COLUMNS[2:], whole=COLUMNS[:2]))


def _words(row: tuple[object, ...]) -> tuple[str, ...]:
    return tuple(map(str, row))


if __name__ == "__main__":
    main()

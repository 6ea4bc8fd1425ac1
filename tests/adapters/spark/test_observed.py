"""A session without Headworks's task scheduler is observed: its queries are measured and planned, and not moved."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from adapters.spark.quick_drivers import quick_environment
from adapters.spark.spark_jobs import PARTITIONS
from headworks_spark.events.eventlog import replay
from patience import PATIENCE

pytestmark = [pytest.mark.spark, pytest.mark.slow]

OBSERVED = """
import json, logging, sys, time
from pathlib import Path
from pyspark.sql import SparkSession
import headworks_spark
from adapters.spark.spark_jobs import HOSTS, counting_query, patience
from headworks.control.loop import Control
from headworks.model import Limits
from headworks_spark.driver.session import executors
from headworks_spark.local.cluster import LocalSpark, worker_specs

folder = Path(sys.argv[1])
cluster = LocalSpark(worker_specs((2, 1, 1))).start()
builder = SparkSession.builder.master(cluster.master_url).config("spark.ui.enabled", "false")
for name, value in {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.eventLog.enabled": "true",
    "spark.eventLog.dir": (folder / "log").as_uri(),
    "spark.eventLog.rolling.enabled": "true",
    "spark.eventLog.compress": "true",
    "spark.eventLog.compression.codec": "zstd",
}.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
for _ in patience():
    if set(executors(spark).values()) == set(HOSTS):
        break
logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(message)s")
with headworks_spark.connect(spark) as connection:
    query = counting_query(spark, str(folder / "checkpoint"))
    rounds = []
    limits = Limits(deadline=60.0, slowdown=None)
    control = Control(scheduler="even", options={"rebalance": True}, engine="spark", window=0.5, limits=limits)
    connection.follow(query, control, interval=0.1, on_round=rounds.append)
    for _ in patience():
        if [each for each in rounds if each.plan is not None and each.plan.moves]:
            break
    query.stop()
    done = next(each for each in rounds if each.plan is not None and each.plan.moves)
    said = {"level": connection.level, "warnings": connection.warnings, "dropped": connection.recorder.dropped}
    said |= {"outcome": done.outcome, "message": done.message, "receipts": [each.receipt for each in rounds]}
    metrics = done.request.metrics
    said |= {"tasks": len(metrics.tasks), "between": len(metrics.flows) + len(metrics.streams)}
    said["jobs"] = [[job.start.job, len(job.tasks), sum(end.written_bytes for end in job.tasks)]
                    for job in connection.recorder.jobs(str(query.id))]
spark.stop()
cluster.stop()
print(json.dumps(said))
"""


def test_a_session_without_the_task_scheduler_is_measured_and_planned_and_not_moved(java: None, tmp_path: Path) -> None:
    """What is heard is what Spark's own log tells, rolling and in zstd."""
    (tmp_path / "log").mkdir()
    env = quick_environment() | {"PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-c", OBSERVED, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE, env=env)
    assert done.returncode == 0, done.stderr[-3000:]
    said = json.loads(done.stdout.splitlines()[-1])
    assert (said["level"], said["dropped"]) == ("none", 0)
    (warned,) = said["warnings"]
    assert "the two options that `headworks spark jar` prints (--jars JAR --conf spark.plugins=" in warned
    assert f"rounds carry nothing out: {warned}" in done.stderr
    assert said["outcome"] == "unchanged"
    assert "moves are not carried out" in said["message"]
    assert set(said["receipts"]) == {None}
    assert said["tasks"] == 2 * PARTITIONS
    assert said["between"] > 0
    (log,) = (tmp_path / "log").glob("eventlog_v2_*")
    again = replay(log)
    logged = {
        job.start.job: [job.start.job, len(job.tasks), sum(end.written_bytes for end in job.tasks)]
        for job in again.history.jobs
    }
    assert again.unread == 0
    assert said["jobs"]
    assert said["jobs"] == [logged[job] for job, *_ in said["jobs"]]

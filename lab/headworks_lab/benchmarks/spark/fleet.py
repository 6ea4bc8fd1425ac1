"""The time of `headworks import spark-eventlog --fleet` for a thousand logs, made from those of real applications.

The real ones run on a local cluster of three Workers: queries with and without state, and jobs that repeat, with even
and with skewed tasks, of two sizes. A copy has another name and pace, and one of the forms that Spark gives a log:
plain, zstd, rolling, still written. Some are damaged.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa

from headworks.cli.output import console, table
from headworks_local.lifetime import environment
from headworks_spark.local.cluster import LocalSpark, worker_specs

BATCHES = 40
TIMES = re.compile(r'"(Launch Time|Finish Time|Submission Time|Completion Time|Timestamp)":(\d+)')
APPLICATION = """
import sys, time
from pyspark.sql import SparkSession
master, folder, kind, tasks, batches, state = sys.argv[1:]
tasks, batches = int(tasks), int(batches)
conf = {"eventLog.enabled": "true", "eventLog.dir": f"file://{folder}", "eventLog.rolling.enabled": "false",
        "eventLog.compress": "false", "ui.enabled": "false", "executor.memory": "600m", "app.name": kind,
        "driver.host": "127.0.0.1", "driver.bindAddress": "127.0.0.1", "sql.adaptive.enabled": "false",
        "sql.shuffle.partitions": str(tasks), "scheduler.minRegisteredResourcesRatio": "1.0"}
builder = SparkSession.builder.master(master)
for name, value in conf.items():
    builder = builder.config(f"spark.{name}", value)
spark = builder.getOrCreate()
if kind.startswith("query"):
    rows = spark.readStream.format("rate").options(rowsPerSecond=20000, numPartitions=tasks).load()
    counts = rows.groupBy(rows.value % 1000).count() if "state" in kind else rows.selectExpr("value * 7 % 13")
    writer = counts.writeStream.format("noop").outputMode("update").option("checkpointLocation", state)
    query = writer.trigger(processingTime="500 milliseconds").start()
    while not query.lastProgress or query.lastProgress["batchId"] < batches:
        time.sleep(0.2)
    query.stop()
else:
    power = 3 if "skew" in kind else 1
    for _ in range(batches):
        rows = spark.range(0, 40000 * tasks, 1, tasks)
        rows = rows.selectExpr(f"cast(pow(rand(1), {power}) * {tasks} as int) k", "id")
        rows.repartition(tasks, "k").selectExpr("sum(sqrt(id))").collect()
spark.stop()
"""
KINDS = ("query", "query with state", "jobs", "jobs with skew")


def record(folder: Path) -> list[Path]:
    """Run the real applications, each size of each kind."""
    with LocalSpark(worker_specs((2, 2, 2))) as cluster:
        for kind in KINDS:
            for tasks in (6, 24):
                words = [
                    cluster.master_url,
                    str(folder),
                    kind,
                    str(tasks),
                    str(BATCHES),
                    str(folder / f".{kind}{tasks}"),
                ]
                env = os.environ | environment()
                subprocess.run([sys.executable, "-c", APPLICATION, *words], check=True, env=env, capture_output=True)
    return sorted(each for each in folder.iterdir() if each.is_file())


def copy(text: str, number: int, folder: Path, pick: random.Random) -> None:
    """A log with the events of a real one, at another pace, in the form whose turn it is."""
    pace, begin = pick.uniform(0.5, 2.0), min(int(found[2]) for found in TIMES.finditer(text))
    scaled = TIMES.sub(lambda found: f'"{found[1]}":{begin + round((int(found[2]) - begin) * pace)}', text)
    scaled = re.sub('"App Name":"[^"]*"', f'"App Name":"app {number}"', scaled)
    place, form = folder / f"app-{number:04}", number % 10
    if form in (0, 1, 2):
        with pa.CompressedOutputStream(str(place.with_suffix(".zstd")), "zstd") as out:
            out.write(scaled.encode())
    elif form in (3, 4):
        lines, rolled = scaled.splitlines(keepends=True), folder / f"eventlog_v2_app-{number:04}"
        rolled.mkdir()
        for part in range(4):
            mine = lines[part * len(lines) // 4 : (part + 1) * len(lines) // 4]
            (rolled / f"events_{part + 1}_{place.name}").write_text("".join(mine))
    elif form == 5:
        place.with_suffix(".inprogress").write_text(scaled[: int(len(scaled) * pick.uniform(0.5, 1.0))])
    elif form == 6 and number % 50 == 6:
        place.write_bytes(pick.randbytes(100_000))
    else:
        place.write_text(scaled)


def main() -> None:
    """Record, copy, judge, and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("logs", nargs="*", type=Path, help="logs of real applications, in place of new ones")
    parser.add_argument("--count", type=int, default=1000)
    words = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder, real = Path(name, "logs"), Path(name, "real")
        folder.mkdir()
        real.mkdir()
        texts = [each.read_text() for each in words.logs or record(real)]
        pick = random.Random(1)
        for number in range(words.count):
            copy(texts[number % len(texts)], number, folder, pick)
        size = sum(each.stat().st_size for each in folder.rglob("*") if each.is_file())
        begin = time.perf_counter()
        command = [sys.executable, "-m", "headworks", "import", "spark-eventlog", str(folder), "--fleet"]
        done = subprocess.run([*command, "-O", str(Path(name, "report")), "--json"], check=True, stdout=subprocess.PIPE)
        seconds = time.perf_counter() - begin
        figures = json.loads(done.stdout)
    events = sum(text.count("\n") for text in texts) / len(texts)
    row = (words.count, f"{events:,.0f}", f"{size / 1e6:,.0f}", f"{seconds:.0f}", figures["unread"])
    errors = (figures[each] for each in ("median_error", "median_work_error", "median_error_of_steady"))
    row += tuple("-" if each is None else f"{each:.1%}" for each in errors)
    columns = (
        "logs",
        "events a log",
        "MB on disk",
        "s",
        "cannot be judged",
        "median error",
        "of CPU",
        "of steady ones",
    )
    console().print(table("a fleet of logs", columns, [row], columns))


if __name__ == "__main__":
    main()

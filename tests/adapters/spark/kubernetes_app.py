"""Jobs of two tasks, by a Python without Headworks: `kubernetes_app.py FOLDER`.

First come six tasks, which end when three executors run them. Jobs of two tasks run until one executor is left, then
until its pod, which FOLDER/last names by its executor, is gone and another one has come, and then three times more.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession


def main(folder):
    context = SparkSession.builder.getOrCreate().sparkContext

    def meet(_number):
        Path(folder, f"came-{os.environ['SPARK_EXECUTOR_ID']}").touch()
        while len(list(Path(folder).glob("came-*"))) < 3:
            time.sleep(0.2)

    def alive():
        ids = context._jsc.sc().getExecutorIds().mkString(" ")
        return set(ids.split())

    def job(group, work=lambda _number: time.sleep(0.3), tasks=2):
        context.setJobGroup(group, group)
        context.range(tasks, numSlices=tasks).foreach(work)

    job("all", meet, tasks=6)
    while len(alive()) > 1:
        job("packed")
    (last,) = alive()
    Path(folder, "draft").write_text(last)
    Path(folder, "draft").rename(Path(folder, "last"))
    while last in alive() or not alive():
        job("leaving")
    for _ in range(3):
        job("after")


if __name__ == "__main__":
    main(*sys.argv[1:])

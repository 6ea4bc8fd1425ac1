"""What fails in Headworks's part of the driver, and the driver's own end, leave Spark and the user's program alone."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from adapters.spark.quick_drivers import quick_environment
from headworks_spark.driver.jar import BUILT, scheduler_jar, spark_home
from patience import PATIENCE

if TYPE_CHECKING:
    from headworks_spark.local.cluster import LocalSpark

pytestmark = [pytest.mark.spark, pytest.mark.slow]

FAULTS = """
import threading
import headworks_spark
from adapters.spark.spark_jobs import HOSTS, counting_query, patience, rotation, three_stages
from headworks.control.loop import Control
from headworks.model import Limits
from headworks_spark.driver.gateway import running_gateway
from headworks_spark.driver.session import session
from headworks_spark.local.cluster import LocalSpark, worker_specs
from headworks_spark.placement.table import PlacementTable

def spoil(scope, key):
    kind = jvm.java.lang.Class.forName("headworks.spark.PlacementTable").getDeclaredField("SCOPES")
    kind.setAccessible(True)
    table = jvm.java.util.HashMap()
    table.put(key, jvm.java.lang.Object())
    kind.get(None).put(scope, table)

with LocalSpark(worker_specs((1, 1, 1))) as cluster:
    spark = session(cluster.master_url, hosts=HOSTS, **{"spark.headworks.wait": "15 secs please"})
    jvm, table = running_gateway().jvm, PlacementTable.of(spark)
    table.push("setting", rotation(1, 3))
    print("setting:", three_stages(spark, "setting") == rotation(1, 3))
    spoil("begin", "0 0")
    print("begin:", len(three_stages(spark, "begin")), table.left("begin"))
    table.hold("midst")
    ran = {}
    thread = threading.Thread(target=lambda: ran.update(three_stages(spark, "midst")))
    thread.start()
    for _ in patience():
        if spark.sparkContext.statusTracker().getJobIdsForGroup("midst"):
            break
    thread.join(2)
    print("waits:", thread.is_alive())
    spoil("midst", "#0")
    thread.join()
    print("midst:", len(ran), set(table.left("midst")))
    table.push("midst", rotation(1, 3))
    print("for good:", len(three_stages(spark, "midst")), table.left("midst") != {})
    table.push("other", rotation(2, 3))
    print("other:", three_stages(spark, "other") == rotation(2, 3))
    rounds = []
    with headworks_spark.connect(spark) as connection:
        for each in connection.warnings:
            print("warned:", each.partition(":")[0])
        query = counting_query(spark, CHECKPOINT)
        control = Control(scheduler="even", engine="spark", window=0.5, limits=Limits(deadline=60.0))
        follower = connection.follow(query, control, interval=0.1, on_round=rounds.append)
        for _ in patience():
            if rounds:
                break
        running_gateway().proc.kill()
        for _ in patience():
            if not follower.alive:
                break
        print("follower:", rounds[-1].outcome, rounds[-1].message.partition(" (")[0])
    print("closed")
"""

OTHER = """
import sys
from pyspark.sql import SparkSession
from headworks_spark.driver.jar import PLACEMENT
from headworks_spark.driver.session import level_of
builder = SparkSession.builder.master(sys.argv[2]).config("spark.ui.enabled", "false")
spark = builder.config("spark.plugins", PLACEMENT).config("spark.jars", sys.argv[1]).getOrCreate()
print(level_of(spark))
"""


def run(script: str, *words: str) -> subprocess.CompletedProcess[str]:
    env = quick_environment() | {"PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-c", script, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE, env=env)


def test_what_fails_inside_is_told_and_stops_no_job(java: None, tmp_path: Path) -> None:
    done = run(FAULTS.replace("CHECKPOINT", repr(str(tmp_path))))
    assert done.stdout.splitlines() == [
        "setting: True",
        "begin: 18 {'fault': 6}",
        "waits: True",
        "midst: 18 {'fault'}",
        "for good: 18 True",
        "other: True",
        "warned: spark.headworks.wait is '15 secs please', which is no time, such as 15s",
        "warned: a fault inside leaves begin to Spark from now on",
        "warned: a fault inside leaves midst to Spark from now on",
        "follower: ended the driver's JVM is gone",
        "closed",
    ], done.stderr
    assert "spark.sql.adaptive.enabled is set to false, as adaptive execution makes a job of each" in done.stderr


def test_a_jar_for_another_spark_places_nothing_and_says_so(cluster: LocalSpark, tmp_path: Path) -> None:
    home = spark_home()
    made, other = scheduler_jar(home), tmp_path / "other.jar"
    with zipfile.ZipFile(made) as old, zipfile.ZipFile(other, "w") as new:
        for each in old.namelist():
            new.writestr(each, b"3.5.0\n" if each == BUILT else old.read(each))
    done = run(OTHER, str(other), cluster.master_url)
    assert done.stdout.splitlines() == ["none"], done.stderr
    assert f"its jar is for Spark 3.5.0, and this is {home.version}; `headworks spark jar` beside" in done.stderr

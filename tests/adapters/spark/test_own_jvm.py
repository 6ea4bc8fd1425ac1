"""The driver's JVM ends with the application that it was started for, and no other JVM does."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

import pytest
from py4j.clientserver import FinalizerWorker

from adapters.spark.quick_drivers import quick_environment
from headworks_spark.driver.gateway import UNSENT, own_jvm
from patience import PATIENCE

WORD_COUNT = str(Path(__file__).parents[3] / "examples" / "spark" / "word_count.py")

OWN = """
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession
from headworks_spark.driver.gateway import ignore_end_of_jvm, own_jvm, running_gateway, session_runs

def started():
    return SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()

with own_jvm():
    first = started()
    process = running_gateway().proc
    first.stop()
print("ended:", process.poll() is not None, running_gateway())
with own_jvm():
    second = started()
    context = second.sparkContext
    ignore_end_of_jvm(context)
    total = context.accumulator(0)
    context.parallelize([1, 2], 1).foreach(lambda each: total.add(each))
    print("counted:", total.value)
    running_gateway().proc.kill()  # as if memory had run out
    running_gateway().proc.wait()
    try:
        second.range(3).count()
    except (Py4JError, OSError):
        print("raised")
print("forgotten:", running_gateway(), session_runs())
third = started()
with own_jvm():
    pass
print("kept:", third.range(3).count())
third.stop()
"""

APPLICATION = """
from pathlib import Path
from headworks.errors import EngineError
from headworks_spark.applications.run import open_application
from headworks_spark.driver.gateway import running_gateway

import sys
for dies in (True, False):
    with open_application([sys.argv[1]], None) as target:
        process = running_gateway().proc
        if dies:
            process.kill()
            process.wait()
    print("ended:", process.poll() is not None, running_gateway())
"""


def told(code: str, *words: str) -> list[str]:
    command = [sys.executable, "-c", code, *words]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=PATIENCE, check=False, env=quick_environment()
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "Exception while sending command" not in done.stderr
    assert "Exception occurred during processing of request" not in done.stderr
    return done.stdout.splitlines()


class LateFinalizer(FinalizerWorker):
    """The thread that tells a JVM of objects that Python has dropped, and meets its end when all else is done."""

    def run(self) -> None:
        logging.error(UNSENT)


def test_objects_that_are_dropped_after_their_jvm_are_nobody_s_error(caplog):
    with own_jvm():
        pass
    late = LateFinalizer([])
    late.start()
    late.join()
    assert not caplog.records
    logging.error(UNSENT)
    assert [record.msg for record in caplog.records] == [UNSENT]


@pytest.mark.spark
def test_a_jvm_ends_with_the_block_that_started_it_and_an_earlier_one_lives_on(java):
    """A traceback of PySpark's accumulators would be told of the second, which is killed."""
    ended, counted, raised, forgotten, kept = told(OWN)
    assert (ended, counted, raised) == ("ended: True None", "counted: 3", "raised")
    assert (forgotten, kept) == ("forgotten: None False", "kept: 3")


@pytest.mark.matrix  # the test before it has an application with a JVM of its own
@pytest.mark.spark
@pytest.mark.slow
def test_an_application_is_opened_again_after_its_jvm_died(java):
    assert told(APPLICATION, WORD_COUNT) == ["ended: True None"] * 2

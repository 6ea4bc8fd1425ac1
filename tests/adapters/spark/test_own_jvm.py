"""The driver's JVM ends with the application that it was started for, and no other JVM does."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from patience import PATIENCE

OWN = """
from pyspark import SparkContext
from pyspark.sql import SparkSession
from headgate_spark.driver.gateway import own_jvm, running_gateway, session_runs

def started():
    return SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()

with own_jvm():
    first = started()
    process = running_gateway().proc
    first.stop()
print("ended:", process.poll() is not None, running_gateway())
with own_jvm():
    second = started()
    running_gateway().proc.kill()  # as if memory had run out
    running_gateway().proc.wait()
print("forgotten:", running_gateway(), session_runs())
third = started()
with own_jvm():
    pass
print("kept:", third.range(3).count())
third.stop()
"""

APPLICATION = """
from pathlib import Path
from headgate.errors import EngineError
from headgate_spark.application import open_application
from headgate_spark.driver.gateway import running_gateway

import sys
for dies in (True, False):
    with open_application([sys.argv[1]], sys.argv[2]) as target:
        process = running_gateway().proc
        if dies:
            process.kill()
            process.wait()
    print("ended:", process.poll() is not None, running_gateway())
"""


def told(code: str, *words: str) -> list[str]:
    command = [sys.executable, "-c", code, *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False, env=os.environ)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()


@pytest.mark.spark
def test_a_jvm_ends_with_the_block_that_started_it_and_an_earlier_one_lives_on(java):
    assert told(OWN) == ["ended: True None", "forgotten: None False", "kept: 3"]


@pytest.mark.spark
@pytest.mark.slow
def test_an_application_is_opened_again_after_its_jvm_died(cluster, pytestconfig):
    application = pytestconfig.rootpath / "examples" / "spark" / "word_count.py"
    assert told(APPLICATION, str(application), cluster.master_url) == ["ended: True None"] * 2

"""The executor plugin on a real cluster: it sees what Python workers burn, and Spark's own metric does not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("usage_jobs.py")
BURNED = 8.0
"""CPU seconds in Python: two tasks of four seconds."""


@pytest.fixture(scope="module")
def found(java):
    done = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, check=False, timeout=400)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.spark
@pytest.mark.slow
class TestUsage:
    def test_every_executor_is_heard(self, found):
        assert (found["level"], found["heard"]) == ("hard", True)
        assert all(count > 1 for count in found["burned"]["count"].values())
        assert found["burned"]["memory"] > 50

    def test_python_s_cpu_is_in_it_and_not_in_spark_s_metric(self, found):
        assert found["burned"]["processes"] > 0.9 * BURNED
        assert found["burned"]["spark"] < 0.25 * BURNED

    def test_nodes_have_it_in_points(self, found):
        nodes = found["burned"]["nodes"]
        assert [each["node"] for each in nodes] == ["127.0.0.2", "127.0.0.3"]
        assert all(each["cpu"] > 0 for each in nodes)
        assert {each["source"] for each in nodes} == {"processes"}

    def test_schedulers_are_given_it(self, found):
        assert found["observed"] == [["127.0.0.2", "processes"], ["127.0.0.3", "processes"]]

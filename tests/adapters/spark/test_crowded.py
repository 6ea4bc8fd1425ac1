"""Several executors a host, excluded nodes, resource profiles: `crowded_jobs.py` runs in a session of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("crowded_jobs.py")
LIMIT = 1740
"""Seconds after which the script is taken to hang; on an idle machine it takes about one minute."""

# test_soft.py has a session of its own that places states, losses and joins by default
pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.matrix, pytest.mark.timeout(LIMIT + 60)]


@pytest.fixture(scope="module")
def found(java):
    done = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, check=False, timeout=LIMIT)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize(("store", "batches"), [("hdfs", 30), ("rocksdb", 10)])
def test_state_stays_on_its_executor_while_the_plan_moves_nothing(found, store, batches):
    """All executors of both hosts have some of it."""
    ran = found[store]
    assert ran["batches"] >= batches
    assert (ran["partitions"], ran["changes"], ran["hits"], ran["executors"], ran["left"]) == (8, 0, True, 4, {})


def test_a_task_without_state_takes_the_first_free_executor_of_its_node(found):
    """Bound to one executor, two of the four would wait until the others are done, or for `spark.locality.wait`."""
    assert found["neighbour"] == {"ran": ["127.0.0.2"], "before": True, "left": {}}


def test_executors_of_another_resource_profile_are_no_target(found):
    """Executors of the default profile live on the node that is asked for, and may not run the stage."""
    assert found["profile"] == {"ran": ["127.0.0.3"], "soon": True, "left": {"gone": 2}}


def test_a_node_that_fails_a_task_is_left_at_once_and_not_asked_again_while_spark_excludes_it(found):
    assert found["exclusion"] == [[True, True, {"failed": 1}], [True, True, {"gone": 1}]]

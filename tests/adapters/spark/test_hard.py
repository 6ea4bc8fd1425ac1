"""Level hard with several executors a host, on each Spark of the matrix: `hard_jobs.py` runs as an application."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("hard_jobs.py")
NODES = {"pods": ["node-a", "node-b"]}
HOSTS = ["127.0.0.2", "127.0.0.3"]

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.matrix, pytest.mark.timeout(1800)]


@pytest.fixture(scope="module", params=["session", "submit", "pods"])
def found(request, java):
    """What its rows tell, in a session of Headworks, in an application of spark-submit, and with pods as executors."""
    command = [sys.executable, SCRIPT, request.param]
    env = os.environ | {"PYTHONPATH": str(SCRIPT.parents[2])}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=1700)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    assert lines, done.stdout[-3000:] + done.stderr[-3000:]
    return {**json.loads(lines[-1]), "asked": NODES.get(request.param, HOSTS)}


def test_every_task_of_three_stages_runs_where_asked_and_moves(found):
    assert (found["level"], found["batch"]) == ("hard", [True, True])


def test_a_task_that_fails_on_its_node_is_tried_on_the_other(found):
    assert found["failing"] == {"ran": [0, 1, 2, 3], "hosts": found["asked"][1:], "left": {"failed": 2}}


def test_source_and_state_of_a_query_run_where_asked_move_and_survive_an_executor(found):
    """State stays on its executor before a move, after it, and after one of its host's executors died."""
    assert (found["stream"]["hits"], found["stream"]["changes"]) == ([True] * 3, [0] * 3)
    assert found["stream"]["executors"] == 4


def test_state_of_an_executor_that_died_goes_to_another_of_its_host_and_no_other_state_moves(found):
    stream = found["stream"]
    assert (stream["lost"], stream["kept"], stream["siblings"]) == (1, True, True)


def test_tasks_that_wait_for_an_executor_that_dies_run_on_its_sibling_and_what_ran_there_elsewhere(found):
    """What dies with its executor may have ended it: it counts as a failure on that node."""
    one, two = found["asked"]
    assert found["killed"] == {"hosts": [one, two, two, two], "others": True, "left": {"failed": 1}}


def test_nodes_are_known_by_the_names_that_tasks_are_placed_by(found):
    assert found["heard"] == found["asked"]
    assert sorted(found["nodes"]) == found["asked"]
    assert found["nodes"][found["asked"][0]] == 200.0  # the other one's executor may not have come back yet

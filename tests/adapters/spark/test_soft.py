"""Level soft, in a session of its own that has no jar; see `soft_jobs.py` for what runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from headworks_spark.placement.operators import JOIN_STORES, Operator, PlanNode, by_stage
from headworks_spark.placement.rescue import Standstill, standstills, stuck
from headworks_spark.placement.state import choose_executors

SCRIPT = Path(__file__).with_name("soft_jobs.py")
LIMIT = 1740
"""Seconds after which the script is taken to hang; on an idle machine it takes one to two minutes."""


def told(*words):
    command, env = [sys.executable, SCRIPT, *words], os.environ | {"PYTHONPATH": str(SCRIPT.parents[2])}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT, env=env)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def found(java):
    return told()


@pytest.fixture(scope="module")
def second(java):
    """What goes on where one stage with state moves, and is dearer."""
    return told("second")


@pytest.mark.spark
@pytest.mark.slow
class TestSoft:
    def test_the_level_is_said(self, found):
        assert (found["level"], found["warnings"], found["dropped"]) == ("soft", [], 0)

    def test_sources_rdds_and_frames_run_where_asked(self, found):
        assert found["batch"] == {
            "source": True,
            "source_rows": True,
            "rdd": [True, True, True],
            "rdd_rows": True,
            "frame": True,
            "frame_rows": True,
        }

    def test_micro_batches_run_where_asked_and_go_on_when_the_placement_breaks(self, found):
        assert found["batches"] == {"enough": True, "hits": True, "failed": False}

    def test_the_state_of_an_unmodified_query_moves(self, found):
        """A batch or two after a change may be planned with where the last one ran: a wish, not an order."""
        assert list(found["state"]["stages"]) == ["stage-1"]
        assert [hits[1:] for hits in found["state"]["batches"]] == [[True, True]] * 3
        assert found["state"]["failures"] == []

    def test_a_query_without_state_is_refused_and_goes_on(self, found):
        assert "keeps no state, so level soft can place none of its stages" in found["stateless"]["said"]
        assert found["stateless"]["active"]

    @pytest.mark.matrix  # the state of one stage moves above, and stages are told apart by their operators below
    def test_each_of_two_stateful_stages_moves_its_own_state_and_hits_cost_no_call(self, second):
        chained = second["chained"]
        assert (chained["stages"], chained["numbers"]) == ([1, 2], [[], [1], [0]])
        assert [hits[1:] for hits in chained["hits"]] == [[True, True]] * 2
        assert (chained["places"], chained["calls of hits"]) == (True, 0)

    @pytest.mark.matrix  # as above
    def test_a_join_moves_with_the_one_store_of_its_third_format(self, second):
        assert (second["joined"]["stage"], second["joined"]["stores"]) == (2, [["default"]])
        assert second["joined"]["hits"][1:] == [True, True]

    def test_the_loop_says_soft_and_sees_its_hits(self, found):
        outcome, level, hits, warnings = found["state"]["loop"]
        assert (outcome, level, hits) == ("executed", "soft", 6)
        assert "may miss" in warnings[0]

    def test_a_stage_that_waits_for_a_dead_executor_is_freed(self, found):
        assert found["rescue"] == {"stayed": True, "moved": True}

    def test_a_stage_of_long_tasks_stays_where_it_was_asked_after_a_loss(self, found):
        assert found["healthy"] is True

    def test_the_wait_of_the_application_is_raised_only_while_something_is_placed(self, found):
        assert [*found["state"]["waits"], found["wait after"]] == ["unset", "15s", "unset"]

    def test_the_log_that_spark_wrote_tells_the_same_jobs(self, found):
        """Rolling and in zstd, read by the same parser."""
        assert found["replay"] == {"jobs": True, "unread": 0, "batches": True}


COUNT, APART = Operator(0), Operator(1)
SOURCE = PlanNode("ShuffleExchangeExec", (PlanNode("MicroBatchScanExec"),))


def test_operators_are_those_of_the_stage_above_their_exchange():
    apart = PlanNode("StreamingDeduplicateExec", (SOURCE,), APART)
    counted = PlanNode("StateStoreSaveExec", (PlanNode("ShuffleExchangeExec", (apart,)),), COUNT)
    assert by_stage(PlanNode("WriteToDataSourceV2Exec", (counted,))) == ((), (APART,), (COUNT,))
    one = PlanNode("StateStoreSaveExec", (apart,), COUNT)
    assert by_stage(one) == ((), (COUNT, APART))


def test_both_sides_of_a_join_come_before_it_and_a_table_that_is_broadcast_is_no_stage():
    left = PlanNode("ShuffleExchangeExec", (PlanNode("StateStoreSaveExec", (SOURCE,), Operator(1)),))
    small = PlanNode("BroadcastExchangeExec", (SOURCE,))
    right = PlanNode("ShuffleExchangeExec", (PlanNode("BroadcastHashJoinExec", (PlanNode("ScanExec"), small)),))
    join = PlanNode("StreamingSymmetricHashJoinExec", (left, right), Operator(0, JOIN_STORES))
    assert by_stage(join) == ((), (Operator(1),), (), (Operator(0, JOIN_STORES),))


def test_state_stays_on_its_executor_and_is_spread_over_those_of_a_host():
    alive = {"1": "a", "2": "a", "3": "b"}
    hosts = {(1, index): "a" for index in range(4)} | {(2, 0): "b", (2, 1): "gone"}
    first = choose_executors(hosts, alive, {})
    assert sorted(first.values()) == ["1", "1", "2", "2", "3"]
    assert choose_executors(hosts, alive, first) == first
    ran = {(1, 0): "2", (1, 1): "2", (1, 2): "2", (1, 3): "3"}
    assert choose_executors(hosts, alive, ran) == {
        (1, 0): "2", (1, 1): "2", (1, 2): "1", (1, 3): "1", (2, 0): "3"
    }  # fmt: skip


def test_a_stage_is_stuck_when_it_begins_nothing_while_tasks_wait():
    seen = standstills({}, 0.0, {(1, 0): (2, 4), (2, 0): (3, 0)})
    assert seen[1, 0] == Standstill(begun=2, waiting=4, since=0.0)
    seen = standstills(seen, 4.0, {(1, 0): (2, 4), (2, 0): (3, 0)})
    assert (stuck(seen, 4.0, 5.0), stuck(seen, 5.0, 5.0)) == ([], [(1, 0)])
    seen = standstills(seen, 5.0, {(1, 0): (3, 3)})
    assert stuck(seen, 9.9, 5.0) == []
    assert list(seen) == [(1, 0)]

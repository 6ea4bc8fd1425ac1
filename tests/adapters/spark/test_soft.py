"""Level soft, in a session of its own that has no jar; see `soft_jobs.py` for what runs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from headgate_spark.placement.rescue import Standstill, standstills, stuck

SCRIPT = Path(__file__).with_name("soft_jobs.py")


@pytest.fixture(scope="module")
def found(java):
    done = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, check=False, timeout=500)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


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
        """The first batch after a change may be planned with the old table: a wish, not an order."""
        assert list(found["state"]["stages"]) == ["stage-1"]
        assert [hits[1:] for hits in found["state"]["batches"]] == [[True, True]] * 3
        assert found["state"]["failures"] == []

    def test_the_loop_says_soft_and_sees_its_hits(self, found):
        outcome, level, hits, warnings = found["state"]["loop"]
        assert (outcome, level, hits) == ("executed", "soft", 6)
        assert "may miss" in warnings[0]

    def test_a_stage_that_waits_for_a_dead_executor_is_freed(self, found):
        assert found["rescue"] == {"stayed": True, "moved": True}

    def test_the_log_that_spark_wrote_tells_the_same_jobs(self, found):
        """Rolling and in zstd, read by the same parser."""
        assert found["replay"] == {"jobs": True, "unread": 0, "batches": True}


def test_a_stage_is_stuck_when_it_begins_nothing_while_tasks_wait():
    seen = standstills({}, 0.0, {(1, 0): (2, 4), (2, 0): (3, 0)})
    assert seen[1, 0] == Standstill(begun=2, waiting=4, since=0.0)
    seen = standstills(seen, 4.0, {(1, 0): (2, 4), (2, 0): (3, 0)})
    assert (stuck(seen, 4.0, 5.0), stuck(seen, 5.0, 5.0)) == ([], [(1, 0)])
    seen = standstills(seen, 5.0, {(1, 0): (3, 3)})
    assert stuck(seen, 9.9, 5.0) == []
    assert list(seen) == [(1, 0)]

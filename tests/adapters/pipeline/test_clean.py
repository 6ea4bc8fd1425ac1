"""What states of the engine say there was, and from when on; which rows that leaves out is a matter for Spark."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from headgate.model import Observation
from headgate_pipeline.tables.clean import KnownTasks
from small_requests import component, topology


def state(hour, minute, tasks=1):
    moment = datetime(2026, 1, 5, hour, minute, tzinfo=UTC)
    return moment, Observation(topologies=(topology("t", component("c", tasks)),))


@pytest.mark.parametrize(("minute", "hour"), [(9, "2026-01-05T00"), (10, "2026-01-05T01"), (11, "2026-01-05T01")])
def test_a_state_may_have_been_true_ten_minutes_before_it_was_seen(minute, hour):
    known = KnownTasks.of([state(1, minute)])
    assert (known.topologies, known.tasks) == ({"t": hour}, {"t/c/0": hour})


def test_a_task_is_known_from_the_first_state_that_has_it():
    known = KnownTasks.of([state(1, 30), state(3, 30, tasks=2), state(5, 30)])
    assert known.topologies == {"t": "2026-01-05T01"}
    assert known.tasks == {"t/c/0": "2026-01-05T01", "t/c/1": "2026-01-05T03"}


def test_what_is_known_of_an_hour_changes_with_what_is_there_by_then():
    known = KnownTasks.of([state(1, 30), state(3, 30, tasks=2)])
    assert known.digest("2026-01-05T00") == ""
    assert known.digest("2026-01-05T01") == known.digest("2026-01-05T02") != known.digest("2026-01-05T03")

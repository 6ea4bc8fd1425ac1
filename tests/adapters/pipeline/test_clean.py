"""What states of the engine say there was, and from when on; the reasons for which rows cannot be used."""

from __future__ import annotations

import contextlib
import math
import sqlite3
from datetime import UTC, datetime

import pytest

from headworks.model import Observation
from headworks.samples.rows import AMOUNTS, VERSION
from headworks_pipeline.tables import clean
from headworks_pipeline.tables.known import KnownTasks
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


ROW = {
    "version": VERSION,
    "kind": "flow",
    "engine": "e",
    "origin": "o",
    "number": 1,
    "topology": "t",
    "task": "t/c/0",
    "component": "c",
    "target": "t/c/1",
    "target_component": "c",
    "node": None,
    "start": 7000.0,
    "end": 7200.0,
    "moment": 2,
    "hour": "2026-01-05T00",
    **dict.fromkeys(AMOUNTS, 1.0),
}


def reason(row, known):
    """The first reason whose test holds of a row; SQLite reads these expressions as Spark does."""

    def some(choose):
        return lambda *values: choose([each for each in values if each is not None], default=None)

    with contextlib.closing(sqlite3.connect(":memory:")) as database:
        for name, count, function in (("floor", 1, math.floor), ("greatest", -1, some(max)), ("least", -1, some(min))):
            database.create_function(name, count, function)
        columns = ", ".join(f"? as `{name}`" for name in row)
        for why, test in clean.tests(clean.listed(known)):
            held = f"select {test} from (select {columns})"
            if database.execute(held, tuple(row.values())).fetchone()[0]:
                return why
    return None


@pytest.mark.parametrize(("change", "expected"), [
    ({}, None),
    ({"version": VERSION + 1}, "unknown schema version"),
    ({"version": None}, "unknown schema version"),
    ({"kind": "tap"}, "unknown kind"),
    ({"kind": None}, "unknown kind"),
    *(({name: None}, "incomplete") for name in ("engine", "origin", "number", "start", "end", "task", "target")),
    ({"kind": "node"}, "incomplete"),
    ({"kind": "node", "node": "n", "target": None, "component": None}, None),
    ({"kind": "topology", "task": None, "component": None}, None),
    ({"kind": "topology", "topology": None}, "incomplete"),
    ({"cpu": 1e30}, None),
    ({"cpu": 1.01e30}, "not a number"),
    ({"tuples": -1e-9}, "negative amount"),
    ({"start": 7200.0}, "clock"),
    ({"start": 7201.0}, "clock"),
    ({"start": 3600.0}, None),  # an hour
    ({"start": 3599.0}, "clock"),
    ({"moment": 1}, "clock"),
    ({"end": 7199.0, "moment": 1}, None),
    ({"task": "t/c/9"}, "unknown task"),
    ({"target": "t/c/9"}, "unknown task"),
    ({"kind": "task", "target": "t/c/9", "target_component": None}, None),
    ({"component": None}, "unknown task"),
    ({"target_component": None}, "unknown task"),
    ({"hour": "2026-01-04T23", "task": "t/c/9"}, None),  # nobody had described the topology
    ({"topology": "other", "task": "other/c/9"}, None),
])  # fmt: skip
def test_a_row_that_cannot_be_used_has_the_first_reason_that_holds(change, expected):
    assert reason({**ROW, **change}, KnownTasks.of([state(0, 10, tasks=2)])) == expected


def test_where_nothing_is_known_any_task_is_believed():
    assert reason({**ROW, "task": "x/y/9"}, KnownTasks()) is None

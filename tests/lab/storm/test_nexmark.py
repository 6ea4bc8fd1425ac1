"""Nexmark on Storm: bids are those of the generator, and topologies in Storm's local mode give DuckDB's answers."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from headworks_lab.nexmark import BIDS, PERIOD, EventKind, Nexmark, kinds
from headworks_lab.storm.workload import roles_of, workloads
from headworks_storm.workload.describe import describe
from nexmark_answers import CLOSED, SQL, rows, tables
from storm_local_mode import LocalMode

pytestmark = [pytest.mark.storm, pytest.mark.network]

SOON = 5
"""Seconds of events whose answers are looked for; a run ends with answers to twice as many, as tasks differ in pace."""
SOME = 20
"""Answers that are waited for where the first seconds have fewer."""
LONG = ("q11",)
"""Queries whose first answer takes more than these seconds: a session ends ten seconds after its last bid."""
ENOUGH = {"q4": 10, "q5": 8, "q7": 2}
"""Answers of windows that are waited for: those of two windows at least."""
WINDOWED = SQL | {"q4": "select category, time // 10000 * 10000 as start, avg(price) from won group by category, start"}
TOPOLOGIES = {each.name: each.build().topologies[0] for each in workloads() if each.name.startswith("nexmark-")}


@pytest.fixture(scope="module")
def java(tmp_path_factory):
    """Runs a class of the tests with Storm's classes."""
    mode = LocalMode(tmp_path_factory.mktemp("classes"))
    mode.compile()
    return mode


@pytest.mark.parametrize("kind", EventKind)
@pytest.mark.parametrize(("seed", "rate"), [(0, 5000.0), (-3, 777.7)])
def test_its_events_are_those_of_the_generator(java, seed, rate, kind):
    numbers, nexmark = np.arange(50_000), Nexmark(seed=seed, rate=rate)
    own = numbers[kinds(numbers) == kind]
    columns = (nexmark.persons, nexmark.auctions, nexmark.bids)[kind](own)
    lines = java("NexmarkEvents", kind.name, len(own), seed, rate).splitlines()
    assert lines == [",".join(map(str, row)) for row in zip(*columns.values(), strict=True)]


def answers(java, folder, name, component, enough):
    """Tuples that a component of a topology emits in local mode, so many or some more."""
    topology = TOPOLOGIES[f"nexmark-{name}"]
    return rows(java.emitted(folder, describe(topology, roles=roles_of(topology)), component, enough))


def events(seconds):
    """A database with so many seconds of the events of these topologies."""
    rate = TOPOLOGIES["nexmark-q5"].components[0].rate * PERIOD / BIDS
    return tables(Nexmark(rate=rate), int(rate * seconds))


@pytest.mark.slow
@pytest.mark.matrix
@pytest.mark.parametrize(
    ("name", "component"), [("q1", "euros"), ("q2", "selection"), ("q3", "join"), ("q8", "join"), ("q11", "sessions")]
)
def test_what_is_asked_is_answered_once_as_duckdb_answers_it(java, tmp_path, name, component):
    end = Nexmark().begin + 1000 * 2 * SOON
    later = rows(events(2 * SOON).execute(CLOSED[name].format(end=end)).fetchall())
    minutes = rows(events(60 * SOON).execute(SQL[name]).fetchall())
    found = answers(java, tmp_path, name, component, max(later.total(), SOME))
    assert found <= minutes
    soon = CLOSED[name].format(end=end - 1000 * SOON)
    assert rows(events(SOON).execute(soon).fetchall()) <= found
    assert later or name in LONG


@pytest.mark.slow
@pytest.mark.matrix
@pytest.mark.parametrize(
    ("name", "component", "place"), [("q4", "average", 1), ("q5", "hottest", 0), ("q7", "highest", 3)]
)
def test_each_window_that_has_closed_is_answered_as_duckdb_answers_it(java, tmp_path, name, component, place):
    def window(row):
        return row[place] // 10_000 if name == "q7" else row[place]

    found = answers(java, tmp_path, name, component, ENOUGH[name])
    last = max(map(window, found))  # amid whose answers the run may end
    wanted = rows(events(60 * SOON).execute(WINDOWED[name]).fetchall())
    whole, asked = ([row for row in each.elements() if window(row) < last] for each in (found, wanted))
    assert Counter(whole) == Counter(asked)
    assert whole


def test_a_topology_has_the_role_of_each_of_its_components():
    for topology in TOPOLOGIES.values():
        assert roles_of(topology).keys() == {each.id for each in topology.components}
    assert list(TOPOLOGIES) == [f"nexmark-{name}" for name in SQL]

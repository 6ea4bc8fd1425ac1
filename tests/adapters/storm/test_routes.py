"""Where workers send, by the digest in their reports: compared with what Nimbus assigns."""

from __future__ import annotations

import zlib

import pytest

from headworks_storm.nimbus.snapshot import read_snapshot
from headworks_storm.workers.routes import routing
from storm_reports import report
from storm_rounds import round_text, supervisor, word_count

SLOTS = [("a", 6700), ("b", 6701)]


def snapshot(*places):
    """The acker (task 1), two counting bolts (2, 3) and the spout (4) in the slots of these numbers; -1 is none."""
    return read_snapshot(
        round_text([supervisor("a"), supervisor("b")], [word_count(slots=SLOTS, assignment=list(places))])
    )


def digest(places):
    return sum(zlib.crc32(f"{task} {node}:{port}".encode()) for task, (node, port) in places.items())


def said(places, to=(1, 2), number=1, **more):
    routes = {"to": list(to), "digest": digest(places)}
    return report(100.0 + number, number=number, supervisor="a", port=6700, **{"routes": routes, **more})


NOW = {1: SLOTS[0], 2: SLOTS[0], 3: SLOTS[1]}


def look(*reports, at=(0, 0, 1, 0)):
    return list(routing(reports, snapshot(*at)).values())


def test_a_worker_that_sends_where_tasks_are_is_in_order():
    assert look(said(NOW)) == ["new"]


@pytest.mark.parametrize(
    "places",
    [{**NOW, 3: SLOTS[0]}, {**NOW, 2: SLOTS[1], 3: SLOTS[0]}, {1: SLOTS[0], 2: SLOTS[0]}, {}],
    ids=["former slot", "two the other way round", "one left out", "none"],
)
def test_a_worker_that_sends_elsewhere_is_named(places):
    assert look(said(places)) == ["former"]


def test_only_components_that_a_worker_sends_to_count():
    assert look(said({1: SLOTS[0]}, to=(1,)), at=(0, 1, 0, 1)) == ["new"]
    assert look(said({}, to=()), at=(0, 1, 0, 1)) == ["new"]


def test_the_last_word_of_a_process_counts():
    assert look(said(NOW, number=2), said({})) == ["new"]
    assert look(said({}, number=2), said(NOW)) == ["former"]


def test_a_worker_that_does_not_tell_and_a_topology_that_is_gone():
    assert look(said({}, routes=None)) == ["untold"]
    assert look(said(NOW, topology="other")) == []


def test_a_route_to_a_task_without_a_slot_is_a_former_one():
    assert look(said(NOW), at=(0, 0, -1, 0)) == ["former"]
    assert look(said({1: SLOTS[0], 2: SLOTS[0]}), at=(0, 0, -1, 0)) == ["new"]

"""Tuples under way by the reports of workers: known to the tuple by acks, and else by what moves."""

from __future__ import annotations

import pytest

from headworks_storm.nimbus.snapshot import read_snapshot
from headworks_storm.workers.backlog import Pause, backlog, in_place
from storm_reports import report
from storm_rounds import component, round_text, supervisor, topology, word_count

IDLE = [[task, 0, 0, 0, 0, 0, 0] for task in (1, 2, 3, 4)]
"""The acker, two bolts and the spout of a word count, which do nothing."""
PAUSED = 100.0


def scheduled(made=None):
    (found,) = read_snapshot(round_text([supervisor("a")], [made or word_count()])).scheduled
    return found


def said(number, **more):
    """A report of a second that ended `number` seconds after the pause."""
    plain = {"number": number, "window": 1000, "tasks": IDLE, "flows": [], "executors": [], "pending": [[4, 0]]}
    plain["paused"] = [[4, 1000]]
    return report(PAUSED + number, **{**plain, **more})


def look(*reports, made=None, since=PAUSED, certain=PAUSED + 100):
    return backlog(scheduled(made), reports, active=False, pause=Pause(since, certain))


def test_two_quiet_seconds_after_the_pause_show_an_empty_topology():
    assert look(said(1), said(2)).tuples == 0
    assert look(said(2), said(1)).why == "all acked"
    assert look(said(1)).tuples is None
    assert look(said(1), said(2), since=PAUSED + 1).tuples is None  # the first reaches back before the pause


@pytest.mark.parametrize(
    "busy",
    [
        {"tasks": [*IDLE[:3], [4, 0, 1, 0, 0, 0, 0]]},
        {"tasks": [[1, 1, 0, 0, 0, 0, 0], *IDLE[1:]]},
        {"tasks": [*IDLE[:3], [4, 0, 0, 0, 1, 0, 0]]},
        {"flows": [[4, 2, 1, None]]},
        {"executors": [[2, 0, 1]]},
    ],
    ids=["emitted", "received", "failed", "sent", "queued"],
)
def test_whatever_moves_shows_that_it_is_not(busy):
    assert look(said(1), said(2, **busy)).tuples is None
    assert look(said(1, **busy), said(2)).tuples is None
    assert look(said(1, **busy), said(2), said(3)).tuples == 0


def test_a_spout_that_has_not_looked_yet_may_still_emit():
    busy = [said(number, paused=[[4, 0]]) for number in (1, 2, 3)]
    assert look(*busy).tuples is None
    assert look(*busy).why == "spouts have not looked yet whether they may emit"
    assert look(*busy[:2], said(3)).tuples is None
    assert look(*busy[:2], said(3), said(4)).tuples == 0


@pytest.mark.parametrize("paused", [[], [[4, 0]], [[3, 1000]]], ids=["no row", "no pause", "another task"])
def test_a_spout_of_which_no_report_tells_pauses_when_it_has_to(paused):
    late = [said(number, paused=paused) for number in (1, 2)]
    assert look(*late, certain=PAUSED + 0.5).tuples is None  # the first reaches back to before
    assert look(*late, certain=PAUSED).tuples == 0


def test_what_a_slow_bolt_holds_is_known_by_its_ack_that_is_missing():
    assert look(said(1, pending=[[4, 3]]), said(2, pending=[[4, 3]])).tuples == 3


def test_a_worker_that_says_nothing_is_no_empty_worker():
    found = look(said(1, tasks=IDLE[:3]), said(2, tasks=IDLE[:3]))
    assert (found.tuples, found.why) == (None, "1 executors (wc/lines/0, ...) do not report")


def test_only_the_life_that_runs_a_task_now_counts():
    old = [said(number, started=1, pending=[[4, 9]]) for number in (1, 2)]
    assert look(*old, said(3, started=2), said(4, started=2)).tuples == 0


def test_an_older_jar_says_nothing_of_pending_tuples():
    reports = [said(number) for number in (1, 2)]
    assert all(each.pending is not None for each in reports)
    old = report(PAUSED + 3, number=3, window=1000, tasks=IDLE, flows=[], executors=[])
    assert "older jar" in look(*reports, old).why


def test_without_ackers_what_moves_is_all_that_is_known():
    made = topology("wc", component("count", [2, 2, 3, 3]), component("lines", [4, 4], kind="spout"))
    reports = [said(number, pending=[]) for number in (1, 2)]
    assert look(*reports, made=made).why == "nothing moves; tuples are not acked"


def test_a_bolt_that_tells_what_it_holds_is_waited_for_without_ackers_and_with_them():
    made = topology("wc", component("count", [2, 2, 3, 3]), component("lines", [4, 4], kind="spout"))
    reports = [said(number, pending=[], held=[[2, 5], [3, 2]]) for number in (1, 2)]
    assert (look(*reports, made=made).tuples, look(*reports, made=made).why) == (7, "held by bolts, as these tell")
    assert look(*reports, said(3, pending=[], held=[[2, 0]]), made=made).tuples == 0
    assert look(said(1), said(2, held=[[2, 1]])).tuples == 1


def test_reports_of_workers_in_former_slots_say_nothing_of_a_topology_that_was_moved():
    made = word_count(slots=[("a", 6701)], assignment=[0, 0, 0, 0])
    snapshot = read_snapshot(round_text([supervisor("a")], [made]))
    former = [said(number, supervisor="a", port=6700, started=1) for number in (1, 2)]
    now = [said(number, supervisor="a", port=6701, started=2) for number in (3, 4)]
    assert in_place([*former, *now], snapshot) == now
    (moved,) = snapshot.scheduled
    assert backlog(moved, in_place(former, snapshot), active=False, pause=Pause(PAUSED)).tuples is None
    assert backlog(moved, in_place([*former, *now], snapshot), active=False, pause=Pause(PAUSED)).tuples == 0

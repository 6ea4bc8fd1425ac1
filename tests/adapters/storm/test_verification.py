"""Who is asked whether a move arrived: a silent worker that nobody can hear costs no restart, and never one twice."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import TYPE_CHECKING

import attrs
import pytest

from headworks.control.guards import Guards
from headworks.control.journal import FileJournal, read_journal
from headworks.control.loop import Control, Loop
from headworks.model import FrozenMap, Plan, Slot
from headworks.plugins.host import PluginHost
from headworks.report.decisions import read_decisions, replay
from headworks_storm import arrival
from headworks_storm.nimbus.rounds import Rounds
from headworks_storm.target import StormTarget
from headworks_storm.workers import watch
from headworks_storm.workers.collector import Collector
from headworks_storm.workers.watch import CollectorWatch
from storm_movers import Mover
from storm_small import SmallStorm
from storm_words import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator


TOKEN = "secret"
S1, S2, S3, HIGH = Slot("s1", 6700), Slot("s2", 6700), Slot("s3", 6700), Slot("s3", 6701)
MOVED = {"wc/x/0": S2, "wc/x/1": S2}
"""The first executor of `wc` joins the second."""


@attrs.define
class World:
    """A cluster of two topologies, what asks it, and what is asked of it."""

    storm: SmallStorm
    target: StormTarget
    host: PluginHost

    def carry_out(self, **patience: float):
        wanted = {**self.target.latest().assignment, **MOVED}
        target = attrs.evolve(self.target, **patience)
        return self.host.execute("storm", target, Plan(assignment=FrozenMap(wanted)))

    def pids(self, name: str) -> list[int]:
        return sorted(pid for (topology, _), pid in dict(self.storm.pids).items() if topology == name)

    def seen(self) -> set[str]:
        return set(self.target.watch.alive(self.target.latest()))


@contextlib.contextmanager
def cluster(**places: list[Slot]) -> Iterator[World]:
    host = PluginHost.load()
    with Collector(token=TOKEN) as collector:
        rounds = Rounds(lambda request: host.schedule("even", request, {}))
        target = StormTarget(rounds=rounds, watch=CollectorWatch(collector))
        with SmallStorm(rounds, collector.address, TOKEN, places) as storm:
            yield World(storm, target, host)


@pytest.fixture
def world() -> Iterator[World]:
    """`wc` reports, `old` was submitted before there were hooks."""
    with cluster(wc=[S1, S2], old=[HIGH, HIGH]) as made:
        made.storm.deaf.add("old")
        eventually(lambda: made.seen() == {"wc/x/0", "wc/x/1"})
        yield made


def messages(receipt) -> str:
    return " | ".join(f"{step.action} {step.subject}: {step.message}" for step in receipt.steps)


def test_a_topology_without_hooks_does_not_undo_the_move_of_another(world):
    old = world.pids("old")
    receipt = world.carry_out(patience=3.0)
    assert receipt.done, messages(receipt)
    assert "2 executors are alive where asked" in messages(receipt)
    assert world.pids("old") == old
    assert world.storm.moves == 1


def test_a_plan_that_moves_a_topology_without_hooks_is_a_note_and_no_failure(world):
    wanted = {**world.target.latest().assignment, **MOVED, "old/x/0": S3}
    plan = Plan(assignment=FrozenMap(wanted))
    receipt = world.host.execute("storm", attrs.evolve(world.target, patience=3.0), plan)
    assert receipt.done, messages(receipt)
    assert "2 executors are alive where asked" in messages(receipt)
    assert "verify old: 2 executors of old cannot be verified: no hooks" in messages(receipt)
    assert receipt.unseen == ("old/x/0", "old/x/1")


def test_where_no_worker_reports_to_anybody_nothing_was_seen(world):
    blind = attrs.evolve(world.target, watch=None, patience=3.0)
    plan = Plan(assignment=FrozenMap({**world.target.latest().assignment, **MOVED}))
    receipt = world.host.execute("storm", blind, plan)
    assert receipt.done, messages(receipt)
    assert set(receipt.unseen) == {"wc/x/0", "wc/x/1"}


def test_what_cannot_be_verified_is_said_before_the_move(world):
    plan = Plan(assignment=FrozenMap({**world.target.latest().assignment, "old/x/0": S3}))
    assert any("cannot be verified: no hooks" in each for each in world.host.preflight("storm", world.target, plan))
    plan = Plan(assignment=FrozenMap({**world.target.latest().assignment, **MOVED}))
    assert not any("verified" in each for each in world.host.preflight("storm", world.target, plan))


def test_a_worker_that_stopped_reporting_and_does_not_move_is_not_asked(monkeypatch):
    monkeypatch.setattr(watch, "FRESH", 1.0)
    with cluster(wc=[S1, S2, S3]) as world:
        eventually(lambda: len(world.seen()) == 3)
        world.storm.mute.add("s3")
        eventually(lambda: "wc/x/2" not in world.seen())
        receipt = world.carry_out(patience=3.0)
        assert receipt.done, messages(receipt)


def test_a_node_whose_workers_never_report_is_a_note():
    with cluster(wc=[S1, S2], more=[S3, HIGH]) as world:
        world.storm.mute.add("s2")  # a wrong token file
        eventually(lambda: world.seen() == {"wc/x/0", "more/x/0", "more/x/1"})
        receipt = world.carry_out(patience=3.0)
        assert receipt.done, messages(receipt)
        assert "verify s2: 2 executors of s2 cannot be verified: no worker on this node reports" in messages(receipt)


def test_an_executor_that_is_silent_after_its_move_is_believed_by_nimbus_s_heartbeats(world):
    world.storm.mute.add("s2")
    receipt = world.carry_out(patience=60.0)
    assert receipt.done, messages(receipt)
    assert "2 (wc/x/0, wc/x/1) run by Nimbus's heartbeats, but do not report" in messages(receipt)
    assert world.storm.moves == 1


def test_a_move_ends_when_workers_that_stay_send_to_the_new_place():
    with cluster(wc=[S1, S2, S3]) as world:
        eventually(lambda: len(world.seen()) == 3)
        world.storm.late.add("s3")
        reads = threading.Timer(2.0, world.storm.late.clear)
        began = time.monotonic()
        reads.start()
        receipt = world.carry_out(patience=3.0)
        assert receipt.done, messages(receipt)
        assert time.monotonic() - began >= 2.0
        assert "former places" not in messages(receipt)


def test_a_worker_that_stays_and_does_not_tell_where_it_sends_is_given_the_time_that_it_needs(monkeypatch):
    monkeypatch.setattr(arrival, "UNTOLD", 2.0)
    with cluster(wc=[S1, S2, S3]) as world:
        eventually(lambda: len(world.seen()) == 3)
        world.storm.untold.add("s3")
        began = time.monotonic()
        assert world.carry_out(patience=3.0).done
        assert time.monotonic() - began >= 2.0


def test_a_move_that_failed_waits_for_nobody_s_routes():
    with cluster(wc=[S1, S2, S3]) as world:
        eventually(lambda: len(world.seen()) == 3)
        world.storm.late.add("s3")
        world.storm.broken.add("s2")
        began = time.monotonic()
        assert not world.carry_out(patience=1.0).done
        assert time.monotonic() - began < arrival.ROUTED / 2


def test_workers_that_never_send_to_the_new_place_are_named_and_nothing_is_undone(monkeypatch):
    monkeypatch.setattr(arrival, "ROUTED", 1.0)
    with cluster(wc=[S1, S2, S3], more=[HIGH]) as world:
        eventually(lambda: len(world.seen()) == 4)
        world.storm.late.add("s3")
        receipt = world.carry_out(patience=3.0)
        assert receipt.done, messages(receipt)
        assert "verify workers: 1 workers (s3:6700) still send to former places after 1 s" in messages(receipt)


def test_a_worker_that_does_not_start_is_a_failure_and_says_so(world):
    world.storm.broken.add("s2")
    receipt = world.carry_out(patience=1.0)
    assert not receipt.done
    assert "2 executors (wc/x/0, wc/x/1) are not alive where asked after 1 s" in messages(receipt)
    eventually(lambda: "wc" in world.storm.status)
    assert world.storm.status["wc"].startswith("Headworks: its last move failed: 2 executors (wc/x/0, wc/x/1)")
    assert "old" not in world.storm.status
    world.storm.broken.clear()
    world.storm.restart("wc")
    wanted = {**world.target.latest().assignment, "wc/x/0": S1}
    assert world.host.execute("storm", world.target, Plan(assignment=FrozenMap(wanted))).done
    eventually(lambda: "wc" not in world.storm.status)


def test_a_worker_that_ended_a_moment_before_is_none_that_has_started(world):
    """Its last report is still fresh when the executor is sent back."""
    assert world.carry_out(patience=3.0).done
    world.storm.broken.add("s1")
    back = Plan(assignment=FrozenMap({**world.target.latest().assignment, "wc/x/0": S1}))
    receipt = world.host.execute("storm", attrs.evolve(world.target, patience=1.0), back)
    assert not receipt.done, messages(receipt)
    assert "1 executors (wc/x/0) are not alive where asked after 1 s" in messages(receipt)


def test_a_process_that_started_and_does_not_report_all_is_said(world):
    world.storm.silent.add(("wc", 1))
    receipt = world.carry_out(patience=1.0)
    assert not receipt.done
    assert "1 executors (wc/x/0) are not alive where asked after 1 s; the worker processes of 1 have started" in (
        messages(receipt)
    )


def rounds_of(world: World, node: str, count: int, patience: float):
    """Rounds of the loop with a scheduler that always wants the same, and no pause between them."""
    host = world.host.with_plugin("mover", Mover(tuple(MOVED), node))
    control = Control(scheduler="mover", engine="storm", window=0.2, guards=Guards(cooldown=0.0))
    loop = Loop(host, control, attrs.evolve(world.target, patience=patience))
    return [loop.round(replan=True) for _ in range(count)]


def test_one_silent_topology_is_no_endless_series_of_restarts(world):
    old = world.pids("old")
    done = rounds_of(world, "s2", 4, 3.0)
    assert [each.outcome for each in done] == ["executed", "unchanged", "unchanged", "unchanged"]
    assert (world.storm.moves, world.pids("old")) == (1, old)


def test_recorded_rounds_are_planned_again_to_the_same_plans(world, tmp_path):
    journal, host = FileJournal(tmp_path / "journal"), world.host.with_plugin("mover", Mover(tuple(MOVED), "s2"))
    control = Control(scheduler="mover", engine="storm", window=0.2, guards=Guards(cooldown=0.0))
    loop = Loop(host, control, attrs.evolve(world.target, patience=3.0), journal)
    assert [loop.round(replan=True).outcome for _ in range(2)] == ["executed", "unchanged"]
    decisions = list(read_decisions(read_journal(journal.path)))
    assert [replay(each, host).verdict for each in decisions] == ["same", "same"]


def test_workers_that_never_start_are_given_up_after_three_failures(world):
    world.storm.broken.add("s3")
    done = rounds_of(world, "s3", 5, 3.0)  # within which the undo has to be seen on a busy machine, too
    moves = world.storm.moves
    assert [each.outcome for each in done] == ["rolled-back"] * 3 + ["held"] * 2
    assert "3 rounds in a row" in done[-1].message
    assert moves == 12  # two executors, there and back, three times

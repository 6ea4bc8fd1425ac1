"""Rescheduling step by step: its rules, its faults, and a manager that is killed at each of its moments."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headworks.errors import EngineError
from headworks.interrupts import Terminated
from headworks.model import Backlog, Change, Drain, FrozenMap
from headworks_manager.database.connection import opened
from headworks_manager.database.reschedulings import Reschedulings
from headworks_manager.database.store import Author, Store
from headworks_manager.reschedule import STARTING, Rescheduler
from headworks_manager.rules.rescheduling import NEXT, Rescheduling, advanced, readiness, recovered
from manager_databases import check_consistent, emptied, postgresql
from manager_engine import ASLEEP, NAMES, NEW, OLD, FileEngine
from patience import PATIENCE

ACTIVE = {*NAMES} - {ASLEEP}
BEGUN = Rescheduling(cluster="c", began=0, topologies=NAMES, paused=("archive-2-7", "event-1-7"), before=FrozenMap(OLD))


@given(st.lists(st.booleans(), max_size=9), st.integers(0, 9))
def test_every_way_leads_to_resume_and_ends_there(results, killed):
    """With any stage failing, and a kill at any moment: the end comes, and only by way of `resume`."""
    now, stages = BEGUN, []
    for number, done in enumerate([*results, *[True] * 6]):
        if number == killed:
            now = recovered(now)
        if now.stage == "ended":
            break
        stages.append(now.stage)
        now = advanced(now, done=done, why="broken")
    assert (now.stage, stages[-1]) == ("ended", "resume")
    assert now.outcome in ("done", "kept", "undone", "failed")
    assert (now.outcome == "done") <= ("undo" not in stages)
    assert (now.outcome == "kept") <= ("change" not in stages)


@pytest.mark.parametrize("stage", NEXT)
def test_another_process_begins_nothing(stage):
    assert recovered(attrs.evolve(BEGUN, stage=stage)).stage in ("undo", "resume")


def test_a_limit_and_then_what_the_user_chose():
    full = {"t": Backlog(active=False, tuples=3), "u": Backlog(active=False, tuples=0)}
    for choice, word in (("wait", "waiting"), ("keep", "kept"), ("force", "forced")):
        assert readiness(full, 9.9, Drain(10.0, choice))[0] == "waiting"
        assert readiness(full, 10.0, Drain(10.0, choice))[0] == word
    assert readiness(full, 10.0, Drain(10.0))[1] == "not empty after 10 s: t: 3 tuples are under way"
    assert readiness({"t": Backlog(active=False, why="no report")}, 0.0, Drain(10.0)) == ("waiting", "t: no report")
    assert readiness({}, 0.0, Drain(10.0))[0] == "empty"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with postgresql(tmp_path_factory.mktemp("postgresql")) as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request, tmp_path):
    url = f"sqlite:///{tmp_path}/manager.sqlite" if request.param == "sqlite" else emptied_server(request)
    with opened(url) as engine:
        Store(engine).set("event", {"priority": 3}, Author(who="ann"))
        yield engine


def emptied_server(request):
    return emptied(request.getfixturevalue("server"))


@pytest.fixture
def machine(tmp_path):
    return FileEngine(tmp_path / "engine.json")


class Time:
    """A clock that waits by itself."""

    now = 0.0

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


def carry_out(machine, database, drain=None):
    time, kept = Time(), Reschedulings(database)
    change = Change(topologies=NAMES, before=FrozenMap(OLD), execute=machine.execute)
    made = Rescheduler(kept, machine.steering, clock=time, sleep=time.sleep)
    try:
        return made.carry_out(change, drain or Drain(10.0))
    finally:
        assert machine.active == ACTIVE
        check_consistent(Store(database), database)


def told(database):
    return [(each.verdict, each.why) for each in Store(database).history("event") if each.action == "reschedule"][::-1]


def test_each_step_of_the_figure_is_in_the_history(machine, database):
    machine.left = {"event-1-7": 3}
    receipt = carry_out(machine, database)
    assert receipt.done
    assert receipt.undo == OLD
    assert machine.slots == NEW
    assert machine.state["calls"] == ["pause", "pause", "execute", "resume", "resume"]
    assert [verdict for verdict, _ in told(database)] == ["deactivated", "empty", "changed", "verified", "activated"]
    assert [each.action for each in receipt.steps] == ["pause", "drain", "change", "assign", "alive", "resume"]
    assert not Reschedulings(database).open("file")


def test_what_is_not_empty_in_time_keeps_the_old_allocation(machine, database):
    machine.left = {"event-1-7": 10**6}
    receipt = carry_out(machine, database)
    assert (receipt.done, receipt.undo, machine.slots) == (False, {}, OLD)
    assert "kept" in dict(told(database))
    assert "not empty after 10 s: event-1-7: " in next(each for each in receipt.steps if not each.done).message


def test_forced_it_changes_all_the_same(machine, database):
    machine.left = {"event-1-7": 10**6}
    assert carry_out(machine, database, Drain(10.0, "force")).done
    assert machine.slots == NEW
    assert [verdict for verdict, _ in told(database)][1] == "forced"


def test_waiting_has_no_end(machine, database):
    machine.left = {"event-1-7": 200}
    assert carry_out(machine, database, Drain(10.0, "wait")).done


@pytest.mark.parametrize(
    ("fault", "times", "slots", "verdicts"),
    [
        ("pause", 1, OLD, ["not deactivated", "activated"]),
        ("execute", 1, OLD, ["deactivated", "empty", "not changed", "undone", "activated"]),
        ("resume", 3, NEW, ["deactivated", "empty", "changed", "verified", "activated"]),
    ],
)
def test_a_failed_step_brings_the_old_allocation_back(machine, database, fault, times, slots, verdicts):
    machine.faults = {fault: times}
    assert carry_out(machine, database).done is (slots is NEW)
    assert machine.slots == slots
    assert [verdict for verdict, _ in told(database)] == verdicts


def test_where_nothing_comes_back_it_is_said_and_topologies_are_active(machine, database):
    machine.faults = {"execute": 1, "rollback": 9}
    with pytest.raises(EngineError, match="the old allocation of archive-2-7, asleep-3-7, event-1-7 did not come back"):
        carry_out(machine, database)
    assert not Reschedulings(database).open("file")


def test_an_engine_that_cannot_say_what_is_under_way_is_asked_again(machine, database):
    time, change = Time(), Change(topologies=NAMES, before=FrozenMap(OLD), execute=machine.execute)
    made = Rescheduler(Reschedulings(database), machine.steering, clock=time, sleep=time.sleep)
    look, machine.backlog = machine.backlog, lambda names: look(names)
    machine.tick = lambda what: machine.faults.update(backlog=2) if what == "after pause" else None
    assert made.carry_out(change, Drain(10.0)).done
    assert machine.active == ACTIVE


def test_a_topology_that_was_killed_while_it_drains_is_not_waited_for(machine, database):
    machine.left = {"event-1-7": 10**6}
    state = {**machine.state, "gone": ["event-1-7"]}
    machine.tick = lambda what: machine._write({**state, "active": []}) if what == "after pause" else None
    time, change = Time(), Change(topologies=NAMES, before=FrozenMap(OLD), execute=machine.execute)
    assert (
        Rescheduler(Reschedulings(database), machine.steering, clock=time, sleep=time.sleep)
        .carry_out(change, Drain(1.0))
        .done
    )


@pytest.mark.parametrize("what", ["after pause", "after execute"])
def test_a_signal_in_the_middle_leaves_nothing_paused_and_nothing_open(machine, database, what):
    def tick(now):
        if now == what:
            raise Terminated(143)

    machine.tick = tick
    with pytest.raises(Terminated):
        carry_out(machine, database)
    assert not Reschedulings(database).open("file")
    assert told(database)[-1] == ("activated", "the manager was told to end")


@pytest.mark.parametrize("what", ["after pause", "after execute"])
def test_a_database_that_goes_away_leaves_nothing_paused_and_is_put_right_later(machine, database, what):
    class Gone(Reschedulings):
        gone = False

        def write(self, *arguments):
            if self.gone:
                raise EngineError("the database failed")
            return super().write(*arguments)

    kept = Gone(database)
    machine.tick = lambda now: setattr(kept, "gone", kept.gone or now == what)
    change = Change(topologies=NAMES, before=FrozenMap(OLD), execute=machine.execute)
    with pytest.raises(EngineError, match="the database failed"):
        Rescheduler(kept, machine.steering).carry_out(change, Drain(10.0))
    assert (machine.active, machine.slots) == (ACTIVE, OLD)
    machine.tick = lambda now: None
    (said,) = Rescheduler(Reschedulings(database), machine.steering).recover()
    assert said.endswith("the manager ended in the middle")
    assert (machine.active, machine.slots) == (ACTIVE, OLD)


@pytest.mark.parametrize(("looks", "seconds"), [(40, 10.0), (10**6, STARTING)])
def test_workers_of_a_change_that_was_cut_off_may_start_before_it_is_undone(machine, database, looks, seconds):
    """A worker that is moved while it starts is forgotten by Storm's supervisor, and keeps its port."""
    begun, time = Reschedulings(database).begin("file", NAMES, sorted(ACTIVE), FrozenMap(OLD)), Time()
    Reschedulings(database).write(begun, attrs.evolve(begun, stage="change"), [("empty", "")])
    for name in ACTIVE:
        machine.pause(name)
    machine.silent = looks
    undone = []
    steering = attrs.evolve(machine.steering, rollback=lambda _: undone.append(time.now) or machine.rollback(_))
    Rescheduler(Reschedulings(database), steering, clock=time, sleep=time.sleep).recover()
    assert undone == [seconds]
    assert machine.active == ACTIVE


def test_another_cluster_in_the_same_database_is_left_alone(machine, database):
    Reschedulings(database).begin("other", NAMES, NAMES, FrozenMap(OLD))
    assert Rescheduler(Reschedulings(database), machine.steering).recover() == ()


def test_of_two_processes_one_goes_on(database):
    kept = Reschedulings(database)
    begun = kept.begin("file", NAMES, NAMES, FrozenMap(OLD))
    kept.write(begun, advanced(begun, done=True), [("deactivated", "")])
    with pytest.raises(EngineError, match="another manager goes on with rescheduling"):
        kept.write(begun, advanced(begun, done=True), [("deactivated", "")])
    assert len(told(database)) == 1


def test_killed_at_every_moment_the_next_process_finishes_or_undoes_it(tmp_path):
    script = Path(__file__).with_name("manager_kills.py")
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each["killed"] for each in found].count("") == 2  # each run came to its end in the end
    assert len(found) >= 30
    assert {each["killed"] for each in found} >= {"after begin", "after pause", "after execute", "after resume"}
    plain = {name: {task: [slot.node, slot.port] for task, slot in slots.items()} for name, slots in NAMED.items()}
    for each in found:
        assert each["active"] == sorted(ACTIVE), each
        assert each["again"] == [], each
        assert each["slots"] == plain["new" if "verified" in each["verdicts"] else "old"], each
        assert not each["verdicts"] or each["verdicts"][-1] == "activated", each


NAMED = {"old": OLD, "new": NEW}

"""Rounds that pause topologies: what the loop hands to a priority manager, and what it makes of its answer."""

from __future__ import annotations

import pytest

from headworks.control.guards import Guards
from headworks.control.loop import Control, Loop
from headworks.control.priorities import change_of, changed_topologies
from headworks.errors import EngineError, PluginError
from headworks.hooks import hookimpl
from headworks.model import Backlog, FrozenMap, Observation, Receipt, Slot, Step
from headworks.plugins.host import PluginHost
from memory_engine import Engine, Judge, Machine
from small_requests import component, node, request, topology

RUNNING = {"t/c/0": "a", "t/c/1": "a", "u/c/0": "b"}


class Intake:
    cluster = "memory"

    def backlog(self, topologies):
        return {name: Backlog(active=True, tuples=0) for name in topologies}

    def pause(self, topology):
        pass

    def resume(self, topology):
        pass


class Pausing(Engine):
    """The engine in memory, with an intake."""

    @hookimpl
    def headworks_intake(self, target):
        return Intake()


class Manager:
    """Carry changes out as it is told to, and remember them."""

    def __init__(self, answer="do"):
        self.answer, self.changes, self.drains, self.broken = answer, [], [], False

    @hookimpl
    def headworks_describe(self):
        return Judge([]).headworks_describe()

    @hookimpl
    def headworks_prioritise(self, observation):
        return observation

    @hookimpl
    def headworks_recover(self, steering, address):
        if self.broken:
            raise EngineError("Nimbus is gone")
        return [f"{steering.intake.cluster} at {address}"]

    @hookimpl
    def headworks_reschedule(self, change, drain):
        self.changes.append(change)
        self.drains.append(drain)
        if self.answer == "raise":
            raise EngineError("the old allocation did not come back")
        if self.answer in ("keep", "scaled"):
            counts = FrozenMap({"t/c": 2} if self.answer == "scaled" else {})
            steps = (Step(action="drain", subject="t", done=False, message="not empty"),)
            return Receipt(done=False, steps=steps, undo_parallelism=counts)
        return change.execute()


def small(*live):
    names = {"t": 2, "u": 1}
    topologies = [topology(name, component("c", tasks), live=name in live) for name, tasks in names.items()]
    return request([node("a"), node("b")], topologies, RUNNING)


def machine(*live):
    made = small(*live)
    return Machine(Observation(cluster=made.cluster, topologies=made.topologies, assignment=made.assignment))


def round_of(manager, target=None, engine=None, **control):
    host = PluginHost().with_plugin("memory", engine or Pausing()).with_plugin("judge", Judge([0, 1, 1]))
    settings = {"drain": 30.0, "priorities": "manager:there", "guards": Guards(cooldown=0.0), **control}
    made = Control(scheduler="judge", engine="memory", **settings)
    return Loop(host.with_plugin("manager", manager), made, target or machine()).round()


def test_only_topologies_whose_running_tasks_move_are_handed_over():
    manager = Manager()
    done = round_of(manager)
    (change,) = manager.changes
    assert (change.topologies, set(change.before)) == (("t",), {"t/c/0", "t/c/1"})
    assert (done.outcome, done.notes) == ("executed", ("memory at there",))
    assert (manager.drains[0].seconds, manager.drains[0].undrained) == (30.0, "keep")


def test_without_drain_or_in_shadow_nobody_is_asked():
    for more in ({"drain": None}, {"shadow": True}):
        manager = Manager()
        round_of(manager, **more)
        assert not manager.changes


def test_a_topology_without_running_tasks_needs_no_pause():
    slot = Slot("a", 1)
    assert changed_topologies({}, {"t/c/0": slot}) == ()
    assert changed_topologies({"t/c/0": slot}, {}) == ()
    assert changed_topologies({"t/c/0": slot}, {"t/c/0": Slot("a", 2)}) == ("t",)
    assert change_of(small(), small().assignment, Receipt).before == FrozenMap()


def test_a_component_whose_id_has_a_slash_is_one_of_its_topology():
    """Else nobody would pause the topology, and no slot of it would be known when the change is undone."""
    slots = {"t/a/b/0": "a:6700", "u/c/0": "a:6701"}
    made = request([node("a"), node("b")], [topology("t", component("a/b")), topology("u", component("c"))], slots)
    after = {**made.assignment, "t/a/b/0": Slot("b", 6700)}
    assert changed_topologies(made.assignment, after) == ("t",)
    change = change_of(made, after, Receipt)
    assert (change.topologies, set(change.before)) == (("t",), {"t/a/b/0"})


def test_tasks_that_move_live_pause_nothing():
    manager, target = Manager(), machine("t")
    done = round_of(manager, target)
    assert (done.outcome, manager.changes) == ("executed", [])
    assert target.calls == ["observe", "preflight", "execute", "observe"]


def test_topologies_that_move_live_beside_others_are_in_what_is_undone_alone():
    after = {"t/c/0": Slot("b", 1), "u/c/0": Slot("a", 1)}
    change = change_of(small("t"), after, Receipt)
    assert (change.topologies, set(change.before)) == (("u",), {"t/c/0", "t/c/1", "u/c/0"})


def test_what_the_manager_undid_is_not_undone_again():
    target = machine()
    done = round_of(Manager("keep"), target)
    assert (done.outcome, done.message) == ("rolled-back", "not empty")
    assert target.calls == ["observe", "preflight"]


def test_numbers_of_tasks_are_undone_by_the_loop_for_no_manager_knows_them():
    target = machine()
    assert round_of(Manager("scaled"), target).outcome == "rolled-back"
    assert target.calls == ["observe", "preflight", "rollback"]


def test_what_does_not_come_back_fails_the_round():
    done = round_of(Manager("raise"))
    assert (done.outcome, done.message) == (
        "failed",
        "memory could not carry the plan out: the old allocation did not come back",
    )


def test_a_change_that_cannot_be_ended_holds_the_round():
    manager = Manager()
    manager.broken = True
    target = machine()
    done = round_of(manager, target)
    assert (done.outcome, done.message) == ("held", "a change that was begun could not be ended: Nimbus is gone")
    assert target.calls == []


@pytest.mark.parametrize(
    ("engine", "more", "said"),
    [
        (Engine(), {}, "headworks_intake"),
        (None, {"priorities": None}, "headworks_reschedule"),
        (None, {"priorities": "judge"}, "headworks_prioritise"),
    ],
)
def test_who_cannot_is_refused_before_anything_runs(engine, more, said):
    with pytest.raises(PluginError, match=said):
        round_of(Manager(), engine=engine, **more)

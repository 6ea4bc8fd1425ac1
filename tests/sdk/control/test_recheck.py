from __future__ import annotations

import attrs
import pytest

from headworks.control.guards import Guards, Memory, remember
from headworks.control.loop import Control, Loop
from headworks.control.recheck import recheck
from headworks.control.totals import Totals, plus
from headworks.documents import digest
from headworks.errors import EngineEndedError
from headworks.hooks import hookimpl
from headworks.model import (
    Constraint,
    ConstraintKind,
    FrozenMap,
    Limits,
    Metrics,
    Observation,
    Receipt,
    Request,
    TaskSample,
    TopologySample,
)
from headworks.plugins.host import PluginHost
from headworks.problem import Problem
from headworks.report.decisions import Decision
from headworks.report.rounds.scene import scene
from memory_engine import Engine, Judge, Machine
from small_requests import at, component, node, request, topology

RUNNING = {"t/c/0": "a", "t/c/1": "a"}
DONE = {"t/c/0": at("b"), "t/c/1": at("c")}
NEWCOMER = topology("new", component("c", 2))


class Changing(Engine):
    """The engine in memory, which changes as soon as a plan is known."""

    def __init__(self, *changes):
        super().__init__()
        self.changes = list(changes)

    @hookimpl
    def headworks_preflight(self, target, plan):
        if self.changes:
            target.seen = self.changes.pop(0)(target.seen)
        return ()

    @hookimpl
    def headworks_look(self, target):
        target.call("look")
        if target.over:
            raise EngineEndedError("no query runs any more")
        return target.seen


class Blind(Engine):
    """The same without the hook that looks."""

    @hookimpl
    def headworks_preflight(self, target, plan):
        target.seen = without_node("b")(target.seen)
        return ()


def observed(running=RUNNING, nodes="abc", *topologies, **more):
    made = request([node(each) for each in nodes], topologies or [topology("t", component("c", 2))], running)
    return Observation(cluster=made.cluster, topologies=made.topologies, assignment=made.assignment, **more)


def loop(target, engine, judge, **guards):
    host = PluginHost().with_plugin("memory", engine).with_plugin("judge", judge)
    guarded = Guards(**{"cooldown": 0.0, "goal": None, **guards})
    return Loop(host, Control(scheduler="judge", engine="memory", limits=Limits(), guards=guarded), target)


def round_of(seen, change, *node_of):
    target = Machine(seen)
    return loop(target, Changing(change), Judge(list(node_of))).round(), target


def without_node(name):
    """A node dies, with all that runs there."""

    def change(seen):
        nodes = tuple(each for each in seen.cluster.nodes if each.id != name)
        left = FrozenMap({task: slot for task, slot in seen.assignment.items() if slot.node != name})
        return attrs.evolve(seen, cluster=attrs.evolve(seen.cluster, nodes=nodes), assignment=left)

    return change


def with_places(**places):
    """Tasks of topology t run elsewhere, by index; None of one that runs no more."""

    def change(seen):
        moved = {f"t/c/{name[1:]}": at(slot) for name, slot in places.items()}
        return attrs.evolve(seen, assignment=FrozenMap({**seen.assignment, **moved}))

    return change


def with_newcomer(*slots):
    """Somebody starts a topology in some slots."""

    def change(seen):
        places = {task.id: at(slot) for task, slot in zip(NEWCOMER.tasks(), slots, strict=True)}
        return attrs.evolve(
            seen, topologies=(*seen.topologies, NEWCOMER), assignment=FrozenMap({**seen.assignment, **places})
        )

    return change


def test_the_moves_that_hold_are_made_and_the_others_are_named_in_the_receipt():
    done, target = round_of(observed(), without_node("b"), 1, 2)
    assert done.receipt.dropped == {"t/c/0": "node b is gone"}
    assert target.seen.assignment == {"t/c/0": at("a"), "t/c/1": at("c")}
    assert (done.outcome, done.check.asked) == ("executed", 1)
    assert done.message == "1 of 1 tasks run where asked; not moved: t/c/0 (node b is gone)"


def test_a_plan_on_an_engine_that_has_not_changed_is_carried_out_as_it_is():
    done, target = round_of(observed(), lambda seen: seen, 1, 2)
    assert (done.receipt.dropped, target.seen.assignment) == ({}, done.plan.assignment)
    plan, asked = done.plan, done.request
    measured = Metrics(tasks=(TaskSample(task="t/c/0", cpu=99.0),))
    assert recheck(plan, asked, observed(metrics=measured)).plan is plan


def test_a_plan_names_the_observation_that_it_answers():
    done, target = round_of(observed(), without_node("b"), 1, 2)
    assert done.plan.provenance.request == digest(done.request)
    assert [each.id for each in done.request.cluster.nodes] == ["a", "b", "c"]
    # and so does the loop's own plan, by which it asks again
    made = loop(target, Changing(), Judge([0, 2], replan=False))
    target.seen = observed()
    made.round(replan=True)
    target.seen = with_places(_1="b")(target.seen)
    again = made.round()
    assert (again.outcome, again.plan.provenance.request) == ("asserted", digest(again.request))


def test_a_task_that_somebody_else_moved_stays_there_and_is_not_asked_for_later():
    target = Machine(observed())
    made = loop(target, Changing(with_places(_1="c")), Judge([1, 1], replan=True))
    done = made.round()
    assert done.receipt.dropped == {"t/c/1": "it was moved to c:6700 since it was observed"}
    assert target.seen.assignment == {"t/c/0": at("b"), "t/c/1": at("c")}
    # With nothing to insist on, the next round asks the scheduler, and acts on what it sees then.
    second = made.round()
    assert (second.outcome, second.plan.provenance.scheduler) == ("executed", "judge")
    assert target.seen.assignment["t/c/1"] == at("b")


def test_a_task_that_was_to_stay_and_that_somebody_moved_is_not_moved_back():
    done, target = round_of(observed(), with_places(_0="c"), 0, 1)
    assert target.seen.assignment == {"t/c/0": at("c"), "t/c/1": at("b")}
    assert list(done.receipt.dropped) == ["t/c/0"]
    assert (done.outcome, done.check.asked) == ("executed", 1)


def test_a_task_whose_node_died_goes_where_the_plan_has_it():
    done, target = round_of(observed({"t/c/0": "a", "t/c/1": "b"}), without_node("b"), 0, 2)
    assert (done.receipt.dropped, target.seen.assignment["t/c/1"]) == ({}, at("c"))


def without_topologies(seen):
    return attrs.evolve(seen, topologies=(), assignment=FrozenMap())


def with_more_tasks(seen):
    return attrs.evolve(seen, topologies=(topology("t", component("c", 3)),))


def with_one_slot(seen):
    nodes = tuple(attrs.evolve(each, slots=(6701,)) if each.id == "b" else each for each in seen.cluster.nodes)
    return attrs.evolve(seen, cluster=attrs.evolve(seen.cluster, nodes=nodes))


CHANGES = {
    "its topology ended": (without_topologies, "topology t is gone, or has other numbers of tasks"),
    "its topology was scaled": (with_more_tasks, "topology t is gone, or has other numbers of tasks"),
    "its slot is gone": (with_one_slot, "slot b:6700 is gone"),
    "others took the room": (with_newcomer("b:6701", "b:6701"), "there is no room left in b:6700"),
    "others took the slot": (with_newcomer("b:6700", "c"), "there is no room left in b:6700"),
}


@pytest.mark.parametrize(("change", "why"), CHANGES.values(), ids=CHANGES)
def test_a_move_that_holds_no_more_is_dropped_and_a_round_without_moves_waits(change, why):
    done, target = round_of(observed(), change, 0, 1)
    assert done.receipt.dropped["t/c/1"] == why
    assert (done.outcome, done.message) == ("waiting", f"no move holds any more: {some(done.receipt.dropped)}")
    assert "execute" not in target.calls
    assert target.seen == change(observed())


def some(dropped):
    return ", ".join(f"{task} ({why})" for task, why in dropped.items())


def test_a_round_whose_moves_were_all_dropped_counts_as_none_that_acted():
    target = Machine(observed())
    made = loop(target, Changing(with_places(_1="c")), Judge([0, 1]), cooldown=60.0)
    assert [made.round().outcome, made.round().outcome] == ["waiting", "executed"]
    done, _ = round_of(observed(), without_node("b"), 0, 1)
    assert remember(Memory(), done, Guards(), now=5.0) == Memory()
    assert plus(Totals(), done).moves == {}


def test_the_page_of_a_round_shows_what_was_dropped():
    done, _ = round_of(observed(), without_node("b"), 1, 2)
    assert scene(Decision(record=1, round=done))["steps"] == [["drop", "t/c/0", "done", "node b is gone"]]


def test_moves_that_were_dropped_are_not_counted():
    done, _ = round_of(observed(), without_node("b"), 1, 2)
    assert sum(plus(Totals(), done).moves.values()) == 1


def test_a_newcomer_goes_on_where_it_runs():
    done, target = round_of(observed(), with_newcomer("b:6701", "c"), 0, 1)
    assert done.receipt.dropped == {}
    assert target.seen.assignment == {**done.plan.assignment, "new/c/0": at("b:6701"), "new/c/1": at("c")}


def test_of_two_tasks_that_change_places_both_stay_where_one_finds_no_room():
    parts = (component("c", 1, 60.0), component("d", 1, 50.0))
    places = {"t/c/0": "a", "t/d/0": "b"}
    seen = observed(places, "ab", topology("t", *parts))

    def shrunk(now):
        nodes = (now.cluster.nodes[0], node("b", 55.0))
        return attrs.evolve(now, cluster=attrs.evolve(now.cluster, nodes=nodes))

    done, target = round_of(seen, shrunk, 1, 0)
    assert set(done.receipt.dropped) == {"t/c/0", "t/d/0"}
    assert target.seen.assignment == seen.assignment


def test_what_a_constraint_asks_of_tasks_together_is_dropped_together():
    together = Constraint(kind=ConstraintKind.TOGETHER)
    seen = observed(RUNNING, "abc", topology("t", component("c", 2), constraints=(together,)))

    def crowded(now):
        nodes = tuple(node("b", 60.0) if each.id == "b" else each for each in now.cluster.nodes)
        return attrs.evolve(now, cluster=attrs.evolve(now.cluster, nodes=nodes))

    done, target = round_of(seen, crowded, 1, 1)
    assert (done.outcome, target.seen.assignment) == ("waiting", seen.assignment)
    assert sorted(done.receipt.dropped.values())[0].startswith("t: ")


def test_where_slots_are_shared_nobody_moves_a_task_by_running_it_elsewhere():
    seen = observed()
    seen = attrs.evolve(seen, cluster=attrs.evolve(seen.cluster, shared_slots=True))
    done, target = round_of(seen, with_places(_0="c", _1="b"), 1, 2)
    assert (done.outcome, done.receipt.dropped) == ("executed", {})
    assert target.seen.assignment == done.plan.assignment
    done, target = round_of(seen, without_node("b"), 1, 2)
    assert (done.receipt.dropped, target.seen.assignment["t/c/1"]) == ({"t/c/0": "node b is gone"}, at("c"))


def test_numbers_of_tasks_are_asked_for_of_topologies_that_are_there():
    seen = observed(RUNNING, "abc", topology("t", component("c", 2)), NEWCOMER)
    asked = Request.of(seen)
    more = attrs.evolve(asked, topologies=(topology("t", component("c", 3)), NEWCOMER))
    plan = attrs.evolve(Problem.of(more).plan([0, 1, 0, 1, 2]), parallelism=FrozenMap({"t/c": 3, "new/c": 2}))
    left = recheck(plan, asked, without_node("b")(attrs.evolve(seen, topologies=seen.topologies[:1])))
    assert left.plan.parallelism == {"t/c": 3}
    assert left.plan.assignment.keys() <= {"t/c/0", "t/c/1", "t/c/2"}
    assert left.plan.assignment["t/c/2"] == plan.assignment["t/c/2"]
    assert {"new/c/0", "new/c/1"} <= left.dropped.keys()


def test_an_engine_that_cannot_look_is_given_the_whole_plan():
    target = Machine(observed())
    done = loop(target, Blind(), Judge([0, 1])).round()
    assert (done.receipt.dropped, target.seen.assignment) == ({}, done.plan.assignment)


def test_an_application_that_ended_meanwhile_ends_the_rounds():
    target = Machine(observed())

    def ends(seen):
        target.over = True
        return seen

    done = loop(target, Changing(ends), Judge([0, 1])).round()
    assert (done.outcome, done.message) == ("ended", "no query runs any more")


def test_an_engine_that_contradicts_itself_is_told_nothing():
    done, target = round_of(observed(), lambda seen: attrs.evolve(seen, topologies=()), 0, 1)
    assert done.outcome == "failed"
    assert "'t/c/0' is not a task" in done.message
    assert "execute" not in target.calls


def taken_back(change):
    """The round that undoes a plan, while which the engine changes, and the engine; tasks went from a to b and c."""
    target = Machine(observed(metrics=latency(10.0)))
    made = loop(target, Looked(lambda seen: seen, change), Judge([1, 2]), goal="latency", settle=1)
    assert made.round().outcome == "executed"
    target.seen = attrs.evolve(target.seen, metrics=latency(900.0))
    return made, target


def latency(milliseconds):
    return Metrics(topologies=(TopologySample(topology="t", latency=milliseconds),))


class Looked(Changing):
    """The engine in memory, which changes each time before it is looked at."""

    @hookimpl
    def headworks_preflight(self, target, plan):
        return ()

    @hookimpl
    def headworks_look(self, target):
        target.seen = self.changes.pop(0)(target.seen)
        return target.seen


def test_tasks_whose_way_back_holds_no_more_stay_and_are_named_and_the_others_go_back():
    made, target = taken_back(with_places(_1="b"))
    done = made.round()
    why = "it was moved to b:6700 since it was observed"
    assert (done.outcome, done.receipt.dropped) == ("undone", {"t/c/1": why})
    assert target.seen.assignment == {"t/c/0": at("a"), "t/c/1": at("b")}
    assert done.message.endswith(f"after round 1; not moved: t/c/1 ({why})")


def test_a_way_back_of_which_nothing_holds_waits_and_is_gone_with_its_node():
    made, target = taken_back(without_node("a"))
    done = made.round()
    assert (done.outcome, set(done.receipt.dropped.values())) == ("waiting", {"node a is gone"})
    assert "rollback" not in target.calls
    # The nodes are others by now, so that the plan is no more to be judged by figures from before.
    assert made.round().outcome not in ("waiting", "undone")


def test_a_way_back_for_which_others_took_the_room_is_tried_again():
    made, target = taken_back(with_newcomer("a", "a"))
    done = made.round()
    assert (done.outcome, set(done.receipt.dropped.values())) == ("waiting", {"there is no room left in a:6700"})
    assert target.seen.assignment == {**DONE, "new/c/0": at("a"), "new/c/1": at("a")}


def test_a_way_back_on_an_engine_that_has_not_changed_is_taken_whatever_it_overloads():
    made, target = taken_back(lambda seen: seen)
    less = tuple(attrs.evolve(each, capacity=node("a", 1.0).capacity) for each in target.seen.cluster.nodes)
    target.seen = attrs.evolve(target.seen, cluster=attrs.evolve(target.seen.cluster, nodes=less))
    assert (made.round().outcome, target.seen.assignment) == ("undone", observed().assignment)


def test_an_application_that_ended_meanwhile_has_no_way_back():
    def ends(seen):
        raise EngineEndedError("no query runs any more")

    assert taken_back(ends)[0].round().outcome == "ended"


def test_what_is_dropped_from_a_reminder_is_not_insisted_on():
    done, _ = round_of(observed(), without_node("b"), 1, 2)
    own = attrs.evolve(done, plan=attrs.evolve(done.plan, provenance=type(done.plan.provenance)()))
    before = Memory(asked=done.plan.assignment)
    assert remember(before, own, Guards(), now=1.0).asked == {"t/c/1": at("c")}


def test_a_receipt_says_what_was_dropped_whatever_the_executor_answers():
    class Refusing(Changing):
        @hookimpl
        def headworks_execute(self, target, plan):
            return Receipt(done=False, undo=target.seen.assignment)

    done = loop(Machine(observed()), Refusing(without_node("b")), Judge([1, 2])).round()
    assert (done.outcome, done.receipt.dropped) == ("rolled-back", {"t/c/0": "node b is gone"})

from __future__ import annotations

import attrs
import pytest

from headworks.model import FrozenMap, Move, MoveKind, Plan, Resources
from headworks.model.validate import check_request
from headworks.problem import Problem
from headworks.problem.plan.check import check_plan
from hetero_cases import profiled
from small_requests import at, component, node, request, topology, word_count

GOOD = word_count()
PLAN = Problem.of(GOOD).plan([0, 1, 0, 0, 1])


def without(task):
    return FrozenMap({each: slot for each, slot in PLAN.assignment.items() if each != task})


def moved(task, slot):
    """The plan with one task elsewhere, moves and all."""
    moves = (attrs.evolve(move, target=at(slot)) if move.task == task else move for move in PLAN.moves)
    return attrs.evolve(PLAN, assignment=FrozenMap({**PLAN.assignment, task: at(slot)}), moves=tuple(moves))


BAD_PLANS = {
    "no plan": (None, "type"),
    "unknown task": (attrs.evolve(PLAN, assignment=FrozenMap({**PLAN.assignment, "x": at("a")})), "unknown-task"),
    "unknown node": (moved("words/spout/0", "x"), "unknown-slot"),
    "unknown slot": (moved("words/spout/0", "a:9"), "unknown-slot"),
    "task missing": (attrs.evolve(PLAN, assignment=without("words/spout/0")), "unplaced"),
    "node overloaded": (moved("words/count/1", "a"), "capacity"),
    "moves missing": (attrs.evolve(PLAN, moves=PLAN.moves[:-1]), "moves"),
    "move from elsewhere": (
        attrs.evolve(PLAN, moves=(Move(kind=MoveKind.MIGRATE, task="words/spout/0", source=at("b"), target=at("a")),)),
        "move",
    ),
    "move of nobody": (attrs.evolve(PLAN, moves=(Move(kind=MoveKind.PLACE, task="x", target=at("a")),)), "move"),
    "move to nowhere": (
        attrs.evolve(PLAN, moves=(Move(kind=MoveKind.PLACE, task="words/spout/0", target=at("x")), *PLAN.moves)),
        "unknown-slot",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("plan", "code"), BAD_PLANS.values(), ids=BAD_PLANS)
def test_each_kind_of_bad_plan_is_found(plan, code):
    assert code in {reason.code for reason in check_plan(Problem.of(GOOD), plan)}


def test_a_good_plan_has_nothing_wrong():
    assert check_plan(Problem.of(GOOD), PLAN) == ()


def codes(asked, assignment, *steps):
    """What is wrong with a plan that was made up; `steps` are task, from and to."""
    kinds = {(False, True): MoveKind.PLACE, (True, True): MoveKind.MIGRATE, (True, False): MoveKind.EVICT}
    moves = tuple(
        Move(
            kind=kinds[bool(source), bool(target)],
            task=task,
            source=source and at(source),
            target=target and at(target),
        )
        for task, source, target in steps
    )
    made = FrozenMap({task: at(slot) for task, slot in assignment.items()})
    return {reason.code for reason in check_plan(Problem.of(asked), attrs.evolve(PLAN, assignment=made, moves=moves))}


def test_two_topologies_in_one_slot_are_found():
    asked = request([node("a")], [topology("t", component("c")), topology("u", component("c"))])
    assert codes(asked, {"t/c/0": "a", "u/c/0": "a"}, ("t/c/0", None, "a"), ("u/c/0", None, "a")) == {"shared-slot"}


def test_a_worker_with_more_heap_than_allowed_is_found():
    asked = request([node("a")], [topology("t", component("c", 2, heap=60.0), worker_heap=100.0)])
    places = {"t/c/0": "a", "t/c/1": "a"}
    assert "heap" in codes(asked, places, ("t/c/0", None, "a"), ("t/c/1", None, "a"))


def test_a_fixed_task_that_moves_is_found():
    asked = request([node("a"), node("b")], [topology("t", component("c", movable=False))], {"t/c/0": "a"})
    assert codes(asked, {"t/c/0": "b"}, ("t/c/0", "a", "b")) == {"fixed"}


def test_a_node_that_is_overloaded_on_the_way_is_found():
    running = {"t/c/0": "a", "t/c/1": "b"}
    parts = topology("t", component("c", 2, cpu=100.0))
    asked = request([node("a"), node("b"), node("c")], [parts], running)
    wrong = ("t/c/0", "a", "b"), ("t/c/1", "b", "c")
    assert codes(asked, {"t/c/0": "b", "t/c/1": "c"}, *wrong) == {"move-order"}
    assert codes(asked, {"t/c/0": "b", "t/c/1": "c"}, *reversed(wrong)) == set()


def test_more_moves_than_the_limit_are_found():
    running = {"t/c/0": "a", "t/c/1": "a"}
    asked = request([node("a"), node("b")], [topology("t", component("c", 2))], running, max_moves=1)
    steps = ("t/c/0", "a", "b"), ("t/c/1", "a", "b")
    assert codes(asked, {"t/c/0": "b", "t/c/1": "b"}, *steps) == {"move-limit"}


def test_a_node_that_was_overloaded_may_stay_so_but_takes_nothing():
    running = {"t/c/0": "a", "t/c/1": "a", "t/c/2": "a"}
    asked = request([node("a"), node("b")], [topology("t", component("c", 4))], running)
    assert codes(asked, {**running, "t/c/3": "b"}, ("t/c/3", None, "b")) == set()
    assert codes(asked, {**running, "t/c/3": "a"}, ("t/c/3", None, "a")) == {"capacity", "move-order"}


def test_a_worker_that_had_more_heap_than_allowed_may_keep_it_but_takes_nothing():
    running = {"t/c/0": "a", "t/c/1": "a"}
    parts = component("c", 3, cpu=0.0, heap=60.0)
    asked = request([node("a")], [topology("t", parts, worker_heap=100.0)], running)
    assert codes(asked, {**running, "t/c/2": "a:6701"}, ("t/c/2", None, "a:6701")) == set()
    assert codes(asked, {**running, "t/c/2": "a"}, ("t/c/2", None, "a")) == {"heap"}


def test_topologies_that_share_a_slot_may_go_on_but_a_third_one_may_not_come():
    running = {"t/c/0": "a", "u/c/0": "a"}
    asked = request([node("a")], [topology(name, component("c", cpu=0.0)) for name in "tuv"], running)
    assert codes(asked, {**running, "v/c/0": "a:6701"}, ("v/c/0", None, "a:6701")) == set()
    assert codes(asked, {**running, "v/c/0": "a"}, ("v/c/0", None, "a")) == {"shared-slot"}


@pytest.mark.parametrize(("excess", "expected"), [(5e-10, []), (5e-9, ["capacity"])])
def test_what_profiles_say_is_over_by_more_than_rounding_is_found(excess, expected):
    asked = profiled([[0.1 * (1 + excess)]])
    plan = attrs.evolve(Problem.of(asked).plan([0]), input_rate=1000.0)
    assert [reason.code for reason in check_plan(Problem.of(asked), plan)] == expected


def test_an_overloaded_node_is_named_with_the_resource_and_both_amounts():
    asked = request([node("a")], [topology("t", component("c", 3, cpu=40.0))])
    plan = Plan(assignment=FrozenMap(dict.fromkeys((f"t/c/{index}" for index in range(3)), at("a"))))
    over = [each for each in check_plan(Problem.of(asked), plan) if each.code == "capacity"]
    assert [(each.subject, each.resource, each.need, each.have) for each in over] == [("a", "cpu", 120.0, 100.0)]


def test_amounts_at_the_limit_are_taken():
    check_request(
        attrs.evolve(
            GOOD, cluster=attrs.evolve(GOOD.cluster, nodes=(attrs.evolve(node("a"), capacity=Resources(cpu=1e15)),))
        )
    )


def test_only_tasks_of_a_live_topology_move_where_no_worker_may_restart():
    running = attrs.evolve(GOOD, assignment=PLAN.assignment, limits=attrs.evolve(GOOD.limits, restarts=False))
    live = attrs.evolve(running, topologies=tuple(attrs.evolve(each, live=True) for each in running.topologies))
    free = attrs.evolve(running, limits=attrs.evolve(running.limits, restarts=True))
    order = [0, 1, 0, 1, 0]
    plan = Problem.of(free).plan(order)
    assert plan.moves
    found = check_plan(Problem.of(running), plan)
    assert {reason.code for reason in found} == {"fixed", "restart"}
    for reason in (each for each in found if each.code == "restart"):
        assert reason.message.startswith(f"the worker in {reason.subject} would restart: ")
    assert check_plan(Problem.of(live), plan) == ()
    assert Problem.of(live).plan(order).assignment == plan.assignment
    assert not Problem.of(running).plan(order).moves

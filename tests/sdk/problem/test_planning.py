from __future__ import annotations

import re

import pytest

from headworks.control.loop import judge
from headworks.model import STARVED, Reason
from headworks.problem import Problem
from headworks.problem.plan.planning import SHOWN
from small_requests import component, node, request, topology, word_count


def reasons(nodes, topologies, decision, **more):
    plan = Problem.of(request(nodes, topologies, **more)).plan(decision)
    assert plan.status == "infeasible"
    return plan.reasons


def test_a_whole_decision_is_an_ok_plan_with_its_scores():
    plan = Problem.of(word_count()).plan([0, 0, 0, 0, 0], "all on one")
    assert (plan.status, plan.reasons, plan.explanation) == ("infeasible", plan.reasons, "all on one")
    plan = Problem.of(word_count()).plan([0, 1, 0, 0, 1])
    assert (plan.status, plan.reasons, len(plan.moves)) == ("ok", (), 5)
    assert plan.scores.nodes_used == 2


@pytest.mark.parametrize(
    ("nodes", "part", "expected"),
    [
        ([node("a", 70.0), node("b", 80.0)], component("c", 1, cpu=100.0), ("capacity", "cpu", 100.0, 80.0)),
        ([node("a")], component("c", 1, heap=300.0), ("heap", "heap", 300.0, 200.0)),
        ([node("a", slots=0)], component("c"), ("slots", "slots", 1.0, 0.0)),
        ([node("a", slots=0)], component("c", cpu=100.0), ("slots", "slots", 1.0, 0.0)),  # all that the node has
        ([], component("c"), ("nodes", "nodes", 1.0, 0.0)),
        ([node("a")], component("c"), ("declined", None, None, None)),
    ],
    ids=lambda each: each[0] if isinstance(each, tuple) else "",
)
def test_an_unplaced_task_says_which_resource_it_lacks(nodes, part, expected):
    (reason,) = reasons(nodes, [topology("t", part, worker_heap=200.0)], [-1])
    assert (reason.code, reason.resource, reason.need, reason.have) == expected
    assert reason.subject == "t/c/0"
    assert "t/c/0" in reason.message


def test_what_is_left_on_an_overloaded_node_is_nothing_not_less():
    running = {"t/c/0": "a"}
    parts = component("c", 1, cpu=150.0, movable=False), component("d")
    (reason,) = reasons([node("a")], [topology("t", *parts)], [0, -1], running=running)
    assert (reason.code, reason.have) == ("capacity", 0.0)


def test_many_unplaced_tasks_are_counted_after_the_first_few():
    found = reasons([node("a")], [topology("t", component("c", SHOWN + 7))], [-1] * (SHOWN + 7))
    assert len(found) == SHOWN + 1
    assert found[-1].message.startswith("7 more of 12")


def test_a_decision_that_overloads_a_node_leaves_tasks_waiting():
    (reason,) = reasons([node("a")], [topology("t", component("c", 3))], [0, 0, 0])
    assert (reason.code, reason.message[:7]) == ("order", "1 tasks")


def starving(*reasons, decision=(0, -1), **more):
    parts = [topology("high", component("c")), topology("low", component("c"))]
    return Problem.of(request([node("a")], parts, **more)).plan(decision, reasons=reasons)


def starved(name="low"):
    return Reason(code=STARVED, subject=name, message=f"{name} waits", resource="nodes", need=1.0, have=0.0)


def test_a_topology_starved_on_purpose_has_one_reason_of_its_own():
    plan = starving(starved(), running={"low/c/0": "a"})
    assert (plan.status, plan.starves) == ("infeasible", True)
    assert plan.reasons == (starved(),)
    assert [move.kind for move in plan.moves] == ["evict", "place"]


def test_a_plan_that_leaves_other_tasks_too_does_not_starve_on_purpose():
    assert not starving(starved(), decision=(-1, -1)).starves
    assert not starving().starves
    assert not starving(starved(), decision=(0, 0)).starves


def test_the_loop_carries_out_a_plan_that_starves_on_purpose():
    assert judge(starving(starved()), (), shadow=False) == (None, "")
    assert judge(starving(), (), shadow=False)[0] == "held"
    assert judge(starving(starved(), decision=(-1, -1)), (), shadow=False)[0] == "held"


def test_decisions_of_another_number_of_tasks_are_refused_with_both_numbers():
    problem = Problem.of(word_count())
    with pytest.raises(ValueError, match=re.escape("node_of has shape (2,), the problem has 5 tasks")):
        problem.plan([0, 0])
    with pytest.raises(ValueError, match=re.escape("worker_of has shape (2,), the problem has 5 tasks")):
        problem.plan([0, 0, 0, 0, 0], worker_of=[0, 0])

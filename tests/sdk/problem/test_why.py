from __future__ import annotations

from collections import defaultdict

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headworks.api import find_request
from headworks.errors import DocumentError
from headworks.model import Flow, FrozenMap, Limits, Metrics, Plan, Slot, Status, TaskSample
from headworks.model.scaling import rescaled
from headworks.plugins.host import PluginHost
from headworks.problem import Problem
from headworks.problem.plan.check import check_plan
from headworks.problem.plan.score import score
from headworks.problem.plan.standing import as_it_runs
from headworks.problem.plan.why import explain
from headworks.testing.instances.build import SMALL
from headworks.testing.instances.strategies import requests
from small_requests import at, component, node, request, topology, word_count

FLOWS = (
    *(Flow(source="words/spout/0", target=f"words/split/{to}", tuples=50.0) for to in (0, 1)),
    *(Flow(source=f"words/split/{of}", target=f"words/count/{to}", tuples=125.0) for of in (0, 1) for to in (0, 1)),
)
"""Measurements that say what `word_count` declares."""

TURNS = {"move", "moves", "move-order", "move-limit", "unplaced"}
"""Codes of what concerns the moves of a plan, which a plan that was changed by hand does not have."""


FEW = 30
"""Examples: in each, every slot is tried."""


def row(found, name):
    return next(each for each in found.alternatives if each.node == name)


def ours(problem, plan, task, slot):
    """Whether the checks of plans have nothing against one task in a slot that they have not against the plan."""
    there = attrs.evolve(
        plan, assignment=FrozenMap({**plan.assignment, task: slot}), status=Status.INFEASIBLE, moves=()
    )
    known = {
        (each.code, each.subject) for each in check_plan(problem, attrs.evolve(plan, status=there.status, moves=()))
    }
    new = [each for each in check_plan(problem, there) if (each.code, each.subject) not in known]
    index, here = problem.task_index[task], problem.node_index[slot.node]
    node_of = problem.node_of(there.assignment)
    # checks let a node that was overloaded before be so, as long as nothing comes: moves say that, which are not here
    full = (problem.demand[node_of == here].sum(axis=0) > problem.capacity[here]).any()
    comes = full and problem.current[index] != here and plan.input_rate is None
    limit, ran = problem.request.limits.max_moves, problem.current[index] >= 0
    moves = score(problem, there.assignment).moves
    runs_there = ran and problem.request.assignment[task] == slot
    late = limit is not None and ran and not runs_there and moves > limit
    return not (comes or late or any(each.code not in TURNS for each in new))


def restarted(problem, assignment):
    before, after = defaultdict(set), defaultdict(set)
    for index in np.flatnonzero(problem.current >= 0).tolist():
        before[problem.request.assignment[problem.task_ids[index]]].add(problem.task_ids[index])
    for task, slot in assignment.items():
        after[slot].add(task)
    return sum(tasks != after[slot] for slot, tasks in before.items())


def compare_with_checks(asked, plan, task):
    """Every row against the checks and scores that all plans go through, slot by slot."""
    asked = rescaled(asked, plan)
    problem, measured = Problem.of(asked, measured=plan.measured), Problem.of(asked)
    found = explain(asked, plan, task)
    ports = {each.id: each.slots for each in asked.cluster.nodes}
    assert sorted(ports) == sorted(each.node for each in found.alternatives)
    now = score(measured, plan.assignment, plan.input_rate)
    for each in found.alternatives:
        slots = [Slot(each.node, port) for port in ports[each.node]]
        if found.planned and found.planned.node == each.node:
            slots = [found.planned]
        assert each.fits == any(ours(problem, plan, task, slot) for slot in slots), each
        assert each.fits == (not each.reasons)
        if each.slot is None:
            continue
        there = FrozenMap({**plan.assignment, task: each.slot})
        assert each.fits == ours(problem, plan, task, each.slot)
        then = score(measured, there, plan.input_rate)
        assert each.inter_node == pytest.approx(then.inter_node - now.inter_node, abs=1e-6)
        assert each.fullest_node == pytest.approx(then.fullest_node - now.fullest_node, abs=1e-9)
        assert each.restarts == restarted(problem, there) - restarted(problem, plan.assignment)
    return found


@settings(max_examples=FEW)
@given(st.data(), requests(SMALL, bound=True), st.sampled_from(["even", "dstorm", "otd"]))
def test_a_row_is_what_the_checks_and_scores_of_plans_say(data, asked, name):
    plan = PluginHost.load().schedule(name, asked)
    tasks = Problem.of(rescaled(asked, plan)).task_ids
    compare_with_checks(asked, plan, data.draw(st.sampled_from(tasks)))


@settings(max_examples=FEW)
@given(st.data(), requests(SMALL), st.booleans())
def test_limits_of_a_round_are_in_the_way(data, asked, restarts):
    asked = attrs.evolve(asked, limits=Limits(max_moves=None if not restarts else 1, restarts=restarts))
    plan = PluginHost.load().schedule("even", asked)
    compare_with_checks(asked, plan, data.draw(st.sampled_from(Problem.of(asked).task_ids)))


@pytest.mark.parametrize("name", ["hetero", "hetero-plus"])
def test_profiles_say_what_a_task_costs_at_the_rate_of_the_plan(name):
    asked = find_request("hetero:linear-three-met5", PluginHost.load())
    plan = PluginHost.load().schedule(name, asked)
    assert plan.input_rate
    for task in plan.assignment:
        compare_with_checks(asked, plan, task)


def test_the_break_even_is_the_traffic_at_which_the_other_node_is_as_good():
    asked = word_count()
    plan = Problem.of(asked).plan([0, 0, 0, 0, 1])
    found = explain(asked, plan, "words/split/0")
    assert (found.planned.node, found.best) == ("a", "b")
    # the spout alone is on b: 50 tuples/s come from it, 125 go to each counter
    assert (found.traffic, found.break_even) == (300.0, 200.0)
    assert "with so much more between the task and that node it would be as good" in found.sentence
    spout = next(flow for flow in FLOWS if flow.target == "words/split/0")
    for more, best in ((199.0, 1.0), (200.0, 0.0), (201.0, -1.0)):
        flows = tuple(attrs.evolve(each, tuples=each.tuples + more * (each is spout)) for each in FLOWS)
        measured = attrs.evolve(asked, metrics=Metrics(window=10.0, flows=flows))
        assert explain(measured, plan, "words/split/0").break_even == pytest.approx(best, abs=1e-6)


def test_a_sentence_tells_what_all_other_nodes_are_short_of():
    asked = request([node("a"), node("b", cpu=10.0), node("c", slots=0)], [topology("t", component("s", 1, 50.0))])
    plan = PluginHost.load().schedule("even", asked)
    found = explain(asked, plan, "t/s/0")
    assert found.scheduler == "even"
    assert found.sentence == "t/s/0 is on a: no other node can take it (cpu: 1, slots: 1)"
    short = row(found, "b").reasons[0]
    assert (short.resource, short.need, short.have) == ("cpu", 50.0, 10.0)
    assert row(found, "c").slot is None
    assert (found.best, found.break_even) == (None, None)


def test_a_node_that_is_full_without_the_task_is_short_of_what_it_needs_there_and_not_of_all_that_runs():
    parts = (component("s", 1, 50.0), component("x", 2, 60.0))
    asked = request([node("a"), node("b", cpu=200.0)], [topology("t", *parts)], {"t/s/0": "a", "t/x/0": "b"})
    plan = Problem.of(asked).plan([1, 0, 1])
    (short,) = row(explain(asked, plan, "t/s/0"), "a").reasons
    assert (short.code, short.resource, short.need, short.have) == ("capacity", "cpu", 110.0, 100.0)


def test_a_move_beyond_the_limit_is_a_reason_with_both_numbers():
    running = {"t/s/0": "a", "t/s/1": "a"}
    asked = request([node("a"), node("b")], [topology("t", component("s", 2, 50.0))], running, max_moves=1)
    plan = Problem.of(asked).plan([1, 0])
    (late,) = row(explain(asked, plan, "t/s/1"), "b").reasons
    assert (late.code, late.subject, late.need, late.have) == ("move-limit", "b", 2.0, 1.0)


def test_a_task_without_a_slot_has_rows_too():
    asked = request([node("a")], [topology("t", component("s", 3, 50.0))])
    plan = PluginHost.load().schedule("even", asked)
    (lost,) = {task.id for task in asked.topologies[0].tasks()} - set(plan.assignment)
    found = compare_with_checks(asked, plan, lost)
    assert found.sentence == f"{lost} has no slot: no other node can take it (cpu: 1)".replace("no other", "no")


def test_a_held_plan_says_so():
    asked = word_count()
    plan = Plan(status=Status.HELD)
    assert explain(asked, plan, "words/spout/0").sentence.startswith("the plan is held, so that words/spout/0 has no")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("words/split", "'words/split' is not a task but has 2: words/split/0 to words/split/1"),
        ("words/split/7", "there is no task 'words/split/7'; words/split has words/split/0 to words/split/1"),
        (
            "words/splt/0",
            "no component 'words/splt', did you mean words/split? there are: words/count, words/split, words/spout",
        ),
        ("x", "'x' is not a task (TOPOLOGY/COMPONENT/INDEX): no component 'x'; there are: words/count"),
    ],
)
def test_an_unknown_task_is_refused_with_those_that_there_are(name, said):
    asked = word_count()
    with pytest.raises(DocumentError) as caught:
        explain(asked, Problem.of(asked).plan([0, 0, 0, 0, 1]), name)
    assert said in str(caught.value)


@settings(max_examples=FEW)
@given(st.data(), requests(SMALL, bound=True))
def test_a_row_about_what_runs_is_what_the_checks_and_scores_of_plans_say(data, asked):
    compare_with_checks(asked, as_it_runs(asked), data.draw(st.sampled_from(Problem.of(asked).task_ids)))


def test_what_runs_is_explained_and_no_scheduler_is_named():
    running = {f"words/{name}": at("a") for name in ("split/0", "split/1", "count/0", "count/1")}
    asked = attrs.evolve(word_count(), assignment=FrozenMap({**running, "words/spout/0": at("b")}))
    found = explain(asked, as_it_runs(asked), "words/split/0")
    assert (found.scheduler, found.planned, found.running) == ("", at("a"), at("a"))
    assert (found.best, found.break_even, row(found, "b").restarts) == ("b", 200.0, 1)
    spout = explain(asked, as_it_runs(asked), "words/spout/0")
    assert spout.sentence == "words/spout/0 is on b: no other node can take it (cpu: 1)"


def test_what_has_less_traffic_elsewhere_has_no_scheduler_to_name_where_it_just_runs():
    nodes = [node("a", cpu=200.0), node("b", cpu=200.0)]
    asked = request(nodes, word_count().topologies, {"words/spout/0": "a", "words/split/0": "b", "words/split/1": "b"})
    said = explain(asked, as_it_runs(asked), "words/spout/0").sentence
    assert said.endswith("the best, b, has 100 tuples/s less between nodes")


THREE = request(
    [node("a"), node("b", cpu=10.0), node("c", host="third")],
    [attrs.evolve(topology("t-1-99", component("s", 1, 50.0)), name="t")],
    {"t-1-99/s/0": "a"},
)


@pytest.mark.parametrize(
    ("name", "rows", "said"),
    [
        ("b", ["a", "b"], "; b cannot take it: it would carry 50 cpu and has 10"),
        (
            "third",
            ["a", "c"],
            "; c could take it (fullest node +0.0%, restarts +1): it has as much traffic between nodes",
        ),
        ("a", ["a"], ""),
    ],
)
def test_one_node_is_asked_about_by_its_id_or_its_host(name, rows, said):
    found = explain(THREE, as_it_runs(THREE), "t/s/0", node=name)
    assert [each.node for each in found.alternatives] == rows
    assert found.sentence == f"t-1-99/s/0 is on a{said}"
    assert found.best == ("c" if name == "third" else None)


def test_one_node_is_asked_about_for_a_task_without_a_slot():
    asked = request([node("a"), node("b", cpu=10.0)], [topology("t", component("s", 1, 50.0))])
    assert explain(asked, as_it_runs(asked), "t/s/0", node="a").sentence == "t/s/0 has no slot, though a could take it"


def test_the_state_that_another_node_has_to_load_is_told():
    seen = Metrics(tasks=(TaskSample(task="t-1-99/s/0", state=120.0),))
    found = explain(attrs.evolve(THREE, metrics=seen), as_it_runs(THREE), "t/s/0", node="b")
    assert found.state == 120.0
    assert found.sentence.endswith("has 10; another node has to load 120 MB of its state first")


def test_an_unknown_node_is_refused_with_those_that_there_are():
    with pytest.raises(DocumentError, match="there is no node 'd'; there are: a, b, c, third"):
        explain(THREE, as_it_runs(THREE), "t/s/0", node="d")

"""From shares to nodes and moves: the resource allocator, starvation, and what runs already."""

from __future__ import annotations

import random
from collections import Counter

import attrs
import pytest

from headworks.control.loop import judge
from headworks.model import Component, Resources
from headworks.problem import Problem
from headworks.problem.plan.check import check_plan
from headworks.testing.instances.build import SeededDice, build_request, crowded
from headworks_priority.options import DpsOptions, SpsOptions, SpsV2Options
from headworks_priority.plugin import dps, sps, sps_v2
from headworks_priority.workloads import USE_CASE_1, USE_CASE_2, use_case
from small_requests import component, node, request, topology
from tiers import cases

EVENTS = ("EventTP1", "EventTP2")
TABLES = {
    8: (sps, SpsOptions(), use_case(USE_CASE_1, 16), [6, 6, 2, 2]),
    9: (dps, DpsOptions(), use_case(USE_CASE_1, 16, ()), [5, 5, 3, 3]),
    12: (sps, SpsOptions(), use_case(USE_CASE_2, 20), [13, 7]),
    13: (dps, DpsOptions(), use_case(USE_CASE_2, 20, ()), [13, 7]),
}


def nodes_of(plan, name):
    return {slot.node for task, slot in plan.assignment.items() if task.startswith(f"{name}/")}


def counts(plan, rows):
    return [len(nodes_of(plan, name)) for name in rows]


def checked(plugin, asked, options):
    plan = plugin.headworks_schedule(asked, options)
    assert check_plan(Problem.of(asked), plan) == ()
    return plan


@pytest.mark.parametrize("table", TABLES)
def test_the_tables_are_counted_on_placements(table):
    plugin, options, asked, expected = TABLES[table]
    plan = checked(plugin, asked, options)
    assert plan.status == "ok"
    assert counts(plan, [each.id for each in asked.topologies]) == expected
    for each in asked.topologies:  # Table 3, line 14: a topology has all its workers
        used = {slot for task, slot in plan.assignment.items() if task.startswith(f"{each.id}/")}
        assert len(used) == max(each.workers, len(nodes_of(plan, each.id)))
    owners = {slot.node: task.partition("/")[0] for task, slot in plan.assignment.items()}
    assert {(slot.node, task.partition("/")[0]) for task, slot in plan.assignment.items()} == set(owners.items())
    assert len(owners) == len(asked.cluster.nodes)


def test_eight_workers_on_six_supervisors_are_two_two_one_one_one_one_of_four_executors_each():
    parts = [component(name, 8) for name in ("bolt1", "bolt2", "bolt3", "spout")]
    asked = request(
        [node(f"n{number}", cpu=6400.0, slots=4) for number in range(6)],
        [topology("t", *parts, workers=8, desired_nodes=6)],
    )
    for plugin, options in ((sps, SpsOptions()), (dps, DpsOptions())):
        plan = checked(plugin, asked, options)
        workers = Counter(plan.assignment.values())
        assert sorted(Counter(slot.node for slot in workers).values()) == [1, 1, 1, 1, 2, 2]
        assert set(workers.values()) == {4}
        for slot in workers:  # one executor of each component
            inside = {task.split("/")[1] for task, other in plan.assignment.items() if other == slot}
            assert len(inside) == 4


@pytest.mark.parametrize("nodes", range(12, 31))
def test_every_cluster_from_the_minima_up_is_served_without_sharing_a_node(nodes):
    for plugin, options, triggered in (
        (sps, SpsOptions(), None),
        (sps_v2, SpsV2Options(), None),
        (dps, DpsOptions(), ()),
        (dps, DpsOptions(), EVENTS),
    ):
        plan = checked(plugin, use_case(USE_CASE_1, nodes, triggered), options)
        assert plan.status == "ok" or plan.starves
        owners = Counter(name for each in USE_CASE_1 for name in nodes_of(plan, each))
        assert not owners or max(owners.values()) == 1
        if plugin is sps_v2:
            assert all(len(nodes_of(plan, name)) >= row.minimum for name, row in USE_CASE_1.items())


def test_workers_and_executors_are_dealt_in_turn():
    asked = use_case({"EventTP1": USE_CASE_1["EventTP1"]}, 6)
    plan = checked(dps, asked, DpsOptions())
    on = Counter(slot.node for slot in plan.assignment.values())
    assert [on[f"node-{number}"] for number in range(1, 7)] == [8, 8, 4, 4, 4, 4]
    first = {task.split("/")[1] for task, slot in plan.assignment.items() if slot.node == "node-3"}
    assert len(first) == 4


def test_a_trigger_starves_the_others_and_the_loop_carries_it_out():
    off = use_case(USE_CASE_1, 16, ())
    running = checked(dps, off, DpsOptions()).assignment
    on = attrs.evolve(use_case(USE_CASE_1, 16, EVENTS), assignment=running)
    plan = checked(dps, on, DpsOptions())
    assert counts(plan, USE_CASE_1) == [8, 8, 0, 0]
    assert {(each.code, each.subject, each.need, each.have) for each in plan.reasons} == {
        ("starved", "ArchivalTP1", 4.0, 0.0),
        ("starved", "ArchivalTP2", 4.0, 0.0),
    }
    assert judge(plan, (), shadow=False) == (None, "")
    assert all(nodes_of(plan, name) > {running[f"{name}/parse/0"].node} for name in EVENTS)
    back = checked(dps, attrs.evolve(off, assignment=plan.assignment), DpsOptions())
    assert (back.status, counts(back, USE_CASE_1)) == ("ok", [5, 5, 3, 3])


def test_a_topology_that_keeps_its_number_of_nodes_moves_nothing():
    running = checked(sps, use_case(USE_CASE_1, 16), SpsOptions()).assignment
    asked = attrs.evolve(use_case(USE_CASE_1, 17), assignment=running)
    plan = checked(sps, asked, SpsOptions())
    assert counts(plan, USE_CASE_1) == [6, 6, 3, 2]
    assert {move.task.partition("/")[0] for move in plan.moves} == {"ArchivalTP1"}


@pytest.mark.parametrize("selection", ["own-first", "by-id"])
def test_topologies_that_run_on_each_other_s_nodes_get_their_own(selection):
    """As many nodes as each is to have: the more important one keeps them."""
    parts = component("c", 2, cpu=10.0)
    both = [topology(name, parts, desired_nodes=2, priority=at) for at, name in enumerate(("high", "low"))]
    running = {f"{name}/c/{task}": node for name in ("high", "low") for task, node in enumerate("ab")}
    plan = checked(sps, request([node(name) for name in "abcd"], both, running), SpsOptions(selection=selection))
    assert (nodes_of(plan, "high"), nodes_of(plan, "low")) == ({"a", "b"}, {"c", "d"})


def test_a_kept_topology_gets_back_a_task_that_does_not_run():
    rows = {"EventTP1": USE_CASE_1["EventTP1"]}
    asked = use_case(rows, 8)
    running = checked(sps, asked, SpsOptions()).assignment
    lost = "EventTP1/parse/3"
    asked = attrs.evolve(asked, assignment=type(running)({task: at for task, at in running.items() if task != lost}))
    plan = checked(sps, asked, SpsOptions())
    assert [(move.kind, move.task, move.target) for move in plan.moves] == [("place", lost, running[lost])]


@pytest.mark.parametrize("selection", ["own-first", "by-id"])
def test_a_topology_that_grows_keeps_its_nodes_or_starts_anew(selection):
    parts = component("c", 4, cpu=10.0)
    asked = request(
        [node(name) for name in "abcd"],
        [topology("t", parts, desired_nodes=2, workers=2)],
        {"t/c/0": "d", "t/c/1": "d", "t/c/2": "d", "t/c/3": "d"},
    )
    plan = checked(sps, asked, SpsOptions(selection=selection))
    assert nodes_of(plan, "t") == ({"a", "d"} if selection == "own-first" else {"a", "b"})


@pytest.mark.parametrize("selection", ["own-first", "by-id"])
def test_tasks_that_cannot_move_stay_and_their_nodes_are_left_to_their_topology(selection):
    """The more important topology chooses first, and would have the first nodes."""
    parts = component("c", cpu=10.0, movable=False), component("d", cpu=10.0)
    low = topology("low", *parts, priority=2, desired_nodes=2)
    high = topology("high", component("c", 2, cpu=10.0), priority=1, desired_nodes=2)
    asked = request([node(name) for name in "abcd"], [high, low], {"low/c/0": "a"})
    plan = checked(dps, asked, DpsOptions(selection=selection))
    assert (plan.status, nodes_of(plan, "low"), nodes_of(plan, "high")) == ("ok", {"a", "d"}, {"b", "c"})


def test_a_topology_that_shrinks_stays_where_its_tasks_cannot_leave():
    parts = component("c", 2, cpu=10.0), component("f", cpu=10.0, movable=False)
    running = {"t/c/0": "a", "t/c/1": "b", "t/f/0": "c"}
    asked = request([node(name) for name in "abc"], [topology("t", *parts, desired_nodes=1)], running)
    plan = checked(sps, asked, SpsOptions())
    assert (plan.status, nodes_of(plan, "t")) == ("ok", {"c"})


@pytest.mark.parametrize(("sizes", "expected"), [((50.0, 150.0), "abbb"), ((150.0, 50.0), "abaa")])
def test_where_a_node_has_no_room_at_its_turn_the_next_one_takes_the_task(sizes, expected):
    made = [node(name, cpu) for name, cpu in zip("ab", sizes, strict=True)]
    plan = checked(sps, request(made, [topology("t", component("c", 4), desired_nodes=2, workers=2)]), SpsOptions())
    assert (plan.status, "".join(slot.node for _, slot in sorted(plan.assignment.items()))) == ("ok", expected)


def test_nodes_of_one_slot_are_shared_and_those_of_none_are_not():
    made = [node(name, slots=slots) for name, slots in (("a", 0), ("b", 1), ("c", 1))]
    plan = checked(sps, request(made, [topology("t", component("c", 2), desired_nodes=2)]), SpsOptions())
    assert (plan.status, nodes_of(plan, "t")) == ("ok", {"b", "c"})
    assert plan.explanation == "2 nodes shared: t 2 of 2"


def test_fewer_nodes_than_the_minima_is_a_value_with_reasons():
    asked = use_case(USE_CASE_1, 11)
    plan = checked(sps, asked, SpsOptions())
    assert (plan.status, plan.moves) == ("infeasible", ())
    assert {(each.code, each.need, each.have) for each in plan.reasons} == {("minimum-nodes", 12.0, 11.0)}
    served = checked(sps_v2, asked, SpsV2Options())
    assert counts(served, USE_CASE_1) == [4, 4, 2, 0]
    assert served.starves
    held = checked(sps_v2, asked, SpsV2Options(below_minima="hold"))
    assert (held.starves, held.assignment) == (False, plan.assignment)


def test_below_the_minima_what_runs_goes_on():
    running = checked(sps, use_case(USE_CASE_1, 12), SpsOptions()).assignment
    fewer = use_case(USE_CASE_1, 11)
    last = {task: slot for task, slot in running.items() if slot.node != "node-12"}
    plan = checked(sps, attrs.evolve(fewer, assignment=type(running)(last)), SpsOptions())
    assert dict(plan.assignment) == last
    assert {each.subject for each in plan.reasons} == {"ArchivalTP2"}


def test_a_share_without_room_is_no_starvation():
    asked = request([node("a"), node("b")], [topology("t", component("c", 4), desired_nodes=1)])
    plan = checked(sps, asked, SpsOptions())
    (reason,) = plan.reasons
    assert (plan.status, plan.starves) == ("infeasible", False)
    assert (reason.code, reason.subject, reason.need, reason.have) == ("share", "t", 2.0, 1.0)


def test_a_share_that_rounds_to_nothing_for_all_is_no_starvation():
    parts = [topology(name, component("c"), desired_nodes=1, minimum_nodes=0) for name in ("t", "u", "v")]
    plan = checked(dps, request([node("a")], parts), DpsOptions())
    assert {each.code for each in plan.reasons} == {"share"}
    assert not plan.starves


def test_a_topology_that_names_no_nodes_desires_what_its_demand_fills():
    parts = topology("t", component("c", 5, cpu=50.0))
    nodes = [node(name) for name in "abcd"]
    plan = checked(sps, request(nodes, [parts]), SpsOptions())
    assert (plan.status, len(nodes_of(plan, "t"))) == ("ok", 3)
    assert checked(sps, request(nodes, [parts]), SpsOptions(undeclared="workers")).status == "infeasible"


def test_a_topology_that_names_only_machines_of_its_own_desires_as_many():
    parts = topology("t", component("c", 5, cpu=50.0), isolated_nodes=4)
    nodes = [node(name) for name in "abcde"]
    assert len(nodes_of(checked(sps, request(nodes, [parts]), SpsOptions()), "t")) == 4
    both = attrs.evolve(parts, desired_nodes=5)
    assert len(nodes_of(checked(sps, request(nodes, [both]), SpsOptions()), "t")) == 5


def test_an_empty_cluster_starves_nobody_on_purpose():
    plan = checked(dps, request([], [topology("t", component("c"))]), DpsOptions())
    assert (plan.status, plan.starves, plan.reasons[0].code) == ("infeasible", False, "nodes")


@pytest.mark.parametrize("selection", ["own-first", "by-id"])
def test_a_node_that_can_hold_no_task_is_not_granted(selection):
    """One task runs on a node without memory, which is neither kept nor counted; the other two nodes are."""
    sizes = {"a": 1024.0, "b": 256.0, "c": 0.0}
    made = [attrs.evolve(node(name, slots=3), capacity=Resources(memory=size)) for name, size in sizes.items()]
    parts = Component(id="s", parallelism=2, demand=Resources(memory=64.0))
    asked = request(made, [topology("t", parts, workers=3)], {"t/s/0": "c"})
    plan = checked(sps, asked, SpsOptions(selection=selection))
    assert (plan.status, nodes_of(plan, "t")) == ("ok", {"a", "b"})
    assert plan.explanation == "2 nodes shared: t 2 of 2"
    assert checked(sps, attrs.evolve(asked, assignment=plan.assignment), SpsOptions(selection=selection)).moves == ()


def test_a_node_with_the_room_is_chosen_before_the_first_one():
    sizes = {"a": 60.0, "b": 200.0, "c": 40.0}
    asked = request(
        [node(name, cpu) for name, cpu in sizes.items()], [topology("t", component("s", 2), desired_nodes=1)]
    )
    for plugin, options in ((sps, SpsOptions()), (dps, DpsOptions()), (sps_v2, SpsV2Options())):
        plan = checked(plugin, asked, options)
        assert (plan.status, nodes_of(plan, "t")) == ("ok", {"b"})


def test_a_topology_that_can_use_no_more_nodes_is_left_as_it_is():
    """It is to have three nodes, of which one can hold its small task alone, which is not the one whose turn it is."""
    parts = component("big", 3, cpu=80.0), component("small", 1, cpu=10.0)
    made = [node("a", 20.0, slots=1), node("b", 200.0, slots=2), node("c", 200.0, slots=2)]
    asked = request(made, [topology("t", *parts, desired_nodes=3)])
    plan = checked(sps, asked, SpsOptions())
    assert (plan.status, nodes_of(plan, "t")) == ("ok", {"a", "b", "c"})
    alone = attrs.evolve(asked, topologies=(topology("t", parts[0], desired_nodes=3),))
    plan = checked(sps, alone, SpsOptions())
    assert nodes_of(plan, "t") == {"b", "c"}
    assert checked(sps, attrs.evolve(alone, assignment=plan.assignment), SpsOptions()).moves == ()


@pytest.mark.parametrize("seed", cases(range(60), 10))
def test_no_plan_of_theirs_moves_anything_again(seed):
    """Nodes with little room or none, whatever runs there."""
    dice = SeededDice(random.Random(f"crowded nodes {seed}"))
    asked = crowded(dice, build_request(dice))
    for plugin, options in ((sps, SpsOptions()), (dps, DpsOptions()), (sps_v2, SpsV2Options())):
        plan = checked(plugin, asked, options)
        if plan.status == "ok":
            assert checked(plugin, attrs.evolve(asked, assignment=plan.assignment), options).moves == ()

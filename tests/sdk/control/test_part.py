"""The part of a plan that is needed: moves that bring nothing are left out, and nothing else is."""

from __future__ import annotations

import attrs
import numpy as np
import pytest

from headworks.control.cut import Cut, first
from headworks.control.guards import Guards
from headworks.control.loop import Control, Loop
from headworks.control.moves_per import moving
from headworks.control.part import LARGEST, USELESS, needed
from headworks.model import Flow, FrozenMap, Limits, Metrics, Observation, Status
from headworks.plugins.host import PluginHost
from headworks.problem import Problem
from headworks.problem.plan.check import check_plan
from memory_engine import AwareJudge, Engine, Machine
from random_requests import random_request
from small_requests import component, node, request, topology, word_count


def asked(running, flows, cpu=10.0, fill=None, nodes=("a", "b"), **more):
    """Tasks of one component: the node of each as a letter, and tuples/s between pairs of them."""
    metrics = Metrics(
        flows=tuple(Flow(source=f"t/c/{one}", target=f"t/c/{two}", tuples=rate) for one, two, rate in flows)
    )
    made = request(
        [node(name, slots=1) for name in nodes],
        [topology("t", component("c", len(running), cpu), live=True, **more)],
        {f"t/c/{index}": name for index, name in enumerate(running)},
        metrics=metrics,
    )
    return attrs.evolve(made, limits=Limits(fill=fill))


TWO_PAIRS = "ababab", [(0, 1, 100.0), (2, 4, 1.0), (3, 5, 2.0)]
"""Two tasks that are apart, and two pairs that are together."""


def part_of(made, node_of, aware=True, **guards):
    plan = Problem.of(made).plan(list(node_of))
    return plan, needed(made, plan, Guards(**guards), traffic_aware=aware)


def moves(made, part):
    return [int(task.rpartition("/")[2]) for task in moving(made, part.plan)]


def test_moves_that_bring_nothing_are_left_out():
    made = asked(*TWO_PAIRS)
    plan, part = part_of(made, [1, 1, 1, 0, 1, 0])
    assert (moves(made, part), part.dropped) == ([0], dict.fromkeys(("t/c/2", "t/c/3", "t/c/4", "t/c/5"), USELESS))
    assert part.plan.scores.share == plan.scores.share


def test_tasks_that_only_swap_places_stay():
    """Each of the four is missed as long as the others move: together they are not."""
    made = asked("aabbab", [(0, 1, 50.0), (2, 3, 50.0), (4, 5, 60.0)], cpu=20.0, fill=0.8)
    _, part = part_of(made, [1, 1, 0, 0, 0, 0])
    assert moves(made, part) == [5]


def test_tasks_that_gain_only_together_move_together():
    made = asked("aabb", [(0, 1, 100.0), (0, 2, 60.0), (1, 3, 60.0)])
    _, part = part_of(made, [1, 1, 1, 1])
    assert (moves(made, part), part.dropped) == ([0, 1], {})


def test_a_move_that_only_makes_room_is_needed():
    made = asked("aabb", [(0, 2, 100.0), (1, 3, 1.0)], cpu=50.0)
    _, part = part_of(made, [1, 0, 1, 0])
    assert (moves(made, part), part.dropped) == ([0, 3], {})


def test_a_move_that_keeps_the_headroom_is_needed():
    for fill, left in ((None, [4]), (0.8, [1, 4])):
        made = asked("aaaabc", [(0, 3, 100.0), (4, 5, 100.0)], cpu=22.0, fill=fill, nodes=("a", "b", "c"))
        _, part = part_of(made, [0, 1, 0, 0, 2, 2])
        assert moves(made, part) == left


def test_the_part_may_be_better_than_the_whole():
    made = asked("abb", [(0, 1, 100.0), (1, 2, 40.0)])
    plan, part = part_of(made, [1, 1, 0])
    assert moves(made, part) == [0]
    assert part.plan.scores.share == 0.0 < plan.scores.share


def test_a_plan_that_frees_a_node_is_made_whole():
    made = asked("aabc", [(0, 1, 100.0), (0, 2, 100.0)], nodes=("a", "b", "c"))
    _, part = part_of(made, [0, 0, 0, 0])
    assert (moves(made, part), part.dropped) == ([2, 3], {})


@pytest.mark.parametrize(
    "more", [{"aware": False}, {"gain": 0.0}, {"goal": "fullest"}, {"goal": "nodes"}], ids=lambda each: next(iter(each))
)
def test_plans_about_something_else_are_made_whole(more):
    made = asked(*TWO_PAIRS)
    plan, part = part_of(made, [1, 1, 1, 0, 1, 0], **more)
    assert len(moves(made, part)) == 5
    assert (part.plan, part.dropped) == (plan, {})


def test_without_measured_traffic_and_with_no_gain_at_all_plans_are_made_whole():
    for flows in ([], [(0, 1, 100.0)]):
        made = asked("aabb", flows)
        plan, part = part_of(made, [0, 0, 1, 0])
        assert (part.plan, part.dropped) == (plan, {})


def test_of_many_moves_no_part_is_looked_for():
    tasks = LARGEST + 1
    made = asked("a" * tasks, [(0, 1, 100.0)], cpu=0.001)
    plan, part = part_of(made, [1] * tasks)
    assert part.plan is plan


def test_the_loop_moves_what_is_needed_and_names_the_others():
    made = asked(*TWO_PAIRS)
    target = Machine(
        Observation(cluster=made.cluster, topologies=made.topologies, assignment=made.assignment, metrics=made.metrics)
    )
    host = PluginHost().with_plugin("memory", Engine()).with_plugin("judge", AwareJudge([1, 1, 1, 0, 1, 0]))
    done = Loop(host, Control(scheduler="judge", engine="memory", limits=Limits()), target).round()
    assert (done.outcome, done.moved, done.forecast.gain) == ("executed", 1, pytest.approx(100 / 103))
    assert set(done.dropped) == {"t/c/2", "t/c/3", "t/c/4", "t/c/5"}
    assert "".join(slot.node for _, slot in sorted(target.seen.assignment.items())) == "bbabab"


@pytest.mark.parametrize("number", range(60))
def test_a_part_keeps_all_rules_and_is_as_good_as_the_whole(number):
    made = random_request(number, "part")
    problem = Problem.of(made)
    room = problem.room()
    for task in range(problem.n):
        nodes = room.fits(task).nonzero()[0].tolist()
        if nodes:
            room.place(task, nodes[-1])
    made = attrs.evolve(made, assignment=problem.plan(room.node_of).assignment)
    plan = PluginHost.load(["dstorm"]).schedule("dstorm", made, {})
    if plan.status is not Status.OK or len(made.assignment) < problem.n or not made.metrics.flows:
        return
    part = needed(made, plan, Guards(), traffic_aware=True)
    assert part.plan.scores.share <= plan.scores.share + 0.01
    assert len(moving(made, part.plan)) <= len(moving(made, plan))
    assert {each.code for each in check_plan(Problem.of(made), part.plan)} <= {
        each.code for each in check_plan(Problem.of(made), plan)
    }
    stays = {task for task in plan.assignment if part.plan.assignment[task] != plan.assignment[task]}
    assert stays <= set(part.dropped)


@pytest.mark.parametrize("number", range(20))
def test_what_a_cut_says_of_a_move_is_what_comes_of_it(number):
    dice = np.random.default_rng(number)
    tasks = 8
    pairs = [(int(one), int(two), float(dice.integers(1, 50))) for one, two in dice.integers(0, tasks, (12, 2))]
    running = "".join(dice.choice(["a", "b", "c"], tasks))
    made = asked(running, [each for each in pairs if each[0] != each[1]], nodes=("a", "b", "c"))
    plan = Problem.of(made).plan(dice.integers(0, 3, tasks).tolist())
    moved = moving(made, plan)
    cut, problem, node_of = Cut(made, plan, moved), Problem.of(made), Problem.of(made).node_of(plan.assignment)
    for move in dice.permutation(len(moved)).tolist():
        before, said = problem.traffic.inter_node(node_of), cut.costs()[move]
        node_of[problem.task_index[moved[move]]] = problem.current[problem.task_index[moved[move]]]
        cut.take_out(move)
        assert problem.traffic.inter_node(node_of) - before == said
    assert cut.cost == problem.traffic.inter_node(problem.current) - plan_traffic(problem, plan)


def plan_traffic(problem, plan):
    return problem.traffic.inter_node(problem.node_of(plan.assignment))


def test_streams_count_as_flows_do():
    """Uniform streams are blocks of pairs: a component that sends to itself, and one that sends to another."""
    plain = word_count()
    made = attrs.evolve(plain, assignment=Problem.of(plain).plan([0, 0, 1, 1, 0]).assignment)
    plan = Problem.of(made).plan([1, 1, 0, 0, 1])
    moved = moving(made, plan)
    cut, problem, node_of = Cut(made, plan, moved), Problem.of(made), Problem.of(made).node_of(plan.assignment)
    for move, task in enumerate(moved):
        before, said = problem.traffic.inter_node(node_of), cut.costs()[move]
        node_of[problem.task_index[task]] = problem.current[problem.task_index[task]]
        cut.take_out(move)
        assert problem.traffic.inter_node(node_of) - before == said


def test_the_first_is_least_in_one_figure_after_the_other_and_then_the_last():
    among = np.array([True, True, True, False])
    assert first(among, np.array([1, 0, 0, 0]), np.array([0, 5, 5, 0])) == 2
    assert first(among, np.array([1, 0, 0, 0]), np.array([0, 4, 5, 0])) == 1
    assert first(np.zeros(2, dtype=bool), np.array([1, 0])) is None
    assert FrozenMap() == {}

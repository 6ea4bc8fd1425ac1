"""Plans that a move limit cuts short: the best moves come first, and none is worse than what runs."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headworks.model import Kind, Limits, Status, Stream
from headworks.problem import Problem
from headworks.testing.instances.build import Size
from headworks.testing.instances.strategies import requests
from headworks.toolbox.move_limit import _gains, best_moves, plan_within_limit
from small_requests import component, node, request, topology


def pairs(rates, running, *, nodes=2, cpu=1000.0, max_moves=1, **more):
    """For each rate a topology of a spout and a bolt; `running` says where, as `a b` for the spout and the bolt."""
    names = "abcdefgh"[:nodes]
    topologies = [
        topology(
            f"t{number}",
            component("bolt", 1, 10.0),
            component("spout", 1, 10.0, kind=Kind.SPOUT, rate=rate),
            streams=(Stream(source="spout", target="bolt"),),
        )
        for number, rate in enumerate(rates)
    ]
    at = {
        f"t{number}/{part}/0": f"{where}:{6700 + number}"
        for number, both in enumerate(running)
        for part, where in zip(("spout", "bolt"), both.split(), strict=True)
    }
    return Problem.of(request([node(name, cpu, 8) for name in names], topologies, at, max_moves=max_moves, **more))


def moved(plan):
    return [move.task for move in plan.moves]


def test_the_move_that_saves_most_comes_first():
    problem = pairs([10.0, 1000.0, 100.0], ["a b", "a b", "a b"])
    target = np.zeros(problem.n, dtype=np.int64)
    assert moved(problem.plan(target)) == ["t0/bolt/0"]
    plan = plan_within_limit(problem, target, "all on a")
    assert moved(plan) == ["t1/bolt/0"]
    assert plan.explanation == "all on a; the 1 best moves of 3"
    two = pairs([10.0, 1000.0, 100.0], ["a b", "a b", "a b"], max_moves=2)
    assert moved(plan_within_limit(two, target)) == ["t1/bolt/0", "t2/bolt/0"]


def test_what_runs_stays_where_the_first_moves_would_cost_more_than_they_save():
    problem = pairs([10.0], ["a a"])
    plan = plan_within_limit(problem, np.array([1, 1]), "both on b")
    assert (plan.moves, plan.explanation) == ((), "both on b; running tasks stay")
    assert len(problem.plan([1, 1]).moves) == 1


def test_a_task_off_an_overloaded_node_comes_before_one_that_saves_traffic():
    parts = (
        component("big", 2, 60.0),
        component("bolt", 1, 10.0),
        component("spout", 1, 10.0, kind=Kind.SPOUT, rate=9.0),
    )
    asked = request(
        [node("a"), node("b"), node("c")],
        [topology("t", *parts, streams=(Stream(source="spout", target="bolt"),))],
        {"t/big/0": "a", "t/big/1": "a", "t/bolt/0": "c", "t/spout/0": "b"},
        max_moves=1,
    )
    problem = Problem.of(asked)
    target = problem.node_of(attrs.evolve(asked).assignment).copy()
    target[[problem.task_index["t/big/1"], problem.task_index["t/bolt/0"]]] = (2, 1)
    assert moved(plan_within_limit(problem, target)) == ["t/big/1"]


def test_two_moves_that_save_only_together_are_both_made():
    problem = pairs([10.0, 10.0], ["a a", "b b"], max_moves=2)
    plan = plan_within_limit(problem, np.array([0, 0, 0, 0]))
    assert moved(plan) == ["t1/bolt/0", "t1/spout/0"]
    assert plan.scores.nodes_used == 1


def test_a_new_task_is_placed_whether_running_ones_may_move_or_not():
    asked = pairs([10.0, 10.0], ["a b"], max_moves=1)
    plan = plan_within_limit(asked, np.array([0, 0, 1, 1]))
    assert plan.status is Status.OK
    assert moved(plan) == ["t0/bolt/0", "t1/bolt/0", "t1/spout/0"]


@pytest.mark.parametrize("limit", [None, 9])
def test_without_a_limit_and_with_a_wide_one_the_whole_placement_is_planned(limit):
    problem = pairs([10.0, 5.0], ["a b", "a b"], max_moves=limit)
    assert problem.node_of(plan_within_limit(problem, np.zeros(4, dtype=np.int64)).assignment).tolist() == [0, 0, 0, 0]


RUNNING = requests(Size(nodes=4, topologies=2, components=3, parallelism=3))


def standing(problem, node_of):
    used = np.zeros_like(problem.capacity)
    np.add.at(used, node_of[node_of >= 0], problem.demand[node_of >= 0])
    return int((used > problem.capacity).any(axis=1).sum()), problem.traffic.inter_node(node_of)


@settings(max_examples=200)
@given(asked=RUNNING, limit=st.integers(0, 4), data=st.data())
def test_a_gain_is_the_traffic_that_the_move_saves(asked, limit, data):
    problem = Problem.of(attrs.evolve(asked, limits=Limits(max_moves=limit)))
    target = np.array(data.draw(st.lists(st.integers(0, problem.m - 1), min_size=problem.n, max_size=problem.n)), int)
    waiting = np.flatnonzero((problem.current >= 0) & (target != problem.current))
    before = problem.traffic.inter_node(problem.current)
    for task, gain in zip(waiting.tolist(), _gains(problem, problem.current, target, waiting).tolist(), strict=True):
        after = problem.current.copy()
        after[task] = target[task]
        assert gain == before - problem.traffic.inter_node(after)


@settings(max_examples=200)
@given(asked=RUNNING, limit=st.integers(0, 4), data=st.data())
def test_a_plan_keeps_the_limit_and_is_never_worse_than_what_runs(asked, limit, data):
    problem = Problem.of(attrs.evolve(asked, limits=Limits(max_moves=limit)))
    target = np.array(data.draw(st.lists(st.integers(0, problem.m - 1), min_size=problem.n, max_size=problem.n)), int)
    best = best_moves(problem, target)
    runs = problem.current >= 0
    assert (best[runs] != problem.current[runs]).sum() <= limit
    plan = plan_within_limit(problem, target)
    if runs.all() and plan.status is Status.OK:
        assert standing(problem, problem.node_of(plan.assignment)) <= standing(problem, problem.current)


@settings(max_examples=60)
@given(asked=requests(Size(nodes=3, topologies=1, components=3, parallelism=2)), data=st.data())
def test_one_move_is_the_best_of_all_single_moves(asked, data):
    problem = Problem.of(attrs.evolve(asked, limits=Limits(max_moves=1)))
    target = np.array(data.draw(st.lists(st.integers(0, problem.m - 1), min_size=problem.n, max_size=problem.n)), int)
    if (problem.current < 0).any() or standing(problem, problem.current)[0]:
        return
    singles = [problem.current]
    for task in np.flatnonzero(problem.fixed < 0).tolist():
        room = problem.room()
        for each in np.flatnonzero(problem.fixed < 0).tolist():
            if each != task:
                room.place(each, int(problem.current[each]))
        if room.fits_on(task, int(target[task])):
            changed = problem.current.copy()
            changed[task] = target[task]
            singles.append(changed)
    least = min(problem.traffic.inter_node(each) for each in singles)
    assert problem.traffic.inter_node(best_moves(problem, target)) == least

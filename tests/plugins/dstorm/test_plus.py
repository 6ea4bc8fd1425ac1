"""The refined plan is never worse, and what it counts on the way is right."""

from __future__ import annotations

from random import Random

import attrs
import numpy as np
import pytest

from dstorm_instances import instance
from headgate.model import Status
from headgate_dstorm.engine import place
from headgate_dstorm.fill import fill
from headgate_dstorm.improve import improve
from headgate_dstorm.placement import Placement
from headgate_dstorm.plus import PlusOptions
from headgate_dstorm.refine import refine
from headgate_dstorm.workloads import Setting, micro_benchmark

STEPS = PlusOptions(steps=400)


def cost(problem, node_of):
    return int((node_of < 0).sum()), problem.traffic.inter_node(node_of)


@pytest.mark.parametrize("seed", range(40))
def test_it_is_never_worse_than_either_start(seed):
    request = attrs.evolve(instance(seed), limits=attrs.evolve(instance(seed).limits, max_moves=None))
    problem = request.problem()
    plan = improve(problem, attrs.evolve(STEPS, least_gain=0.0))
    found = cost(problem, problem.node_of(plan.assignment))
    assert found <= min(cost(problem, place(problem, STEPS)), cost(problem, fill(problem)))


@pytest.mark.parametrize("seed", range(20))
def test_annealing_keeps_capacity_slots_and_fixed_tasks(seed):
    problem = instance(seed, scale=2).problem()
    start = fill(problem)
    node_of = refine(problem, start, steps=500, seed=seed)
    assert problem.traffic.inter_node(node_of) <= problem.traffic.inter_node(start)
    assert set(node_of.tolist()) <= set(start.tolist())
    assert ((node_of < 0) == (start < 0)).all()
    fixed = problem.fixed >= 0
    assert (node_of[fixed] == problem.fixed[fixed]).all()
    usage, before = np.zeros_like(problem.capacity), np.zeros_like(problem.capacity)
    np.add.at(usage, node_of[node_of >= 0], problem.demand[node_of >= 0])
    np.add.at(before, problem.fixed[fixed], problem.demand[fixed])
    assert (usage <= np.maximum(problem.capacity, before)).all()
    assert problem.plan(node_of).scores.unplaced <= problem.plan(start).scores.unplaced or fixed.any()


@pytest.mark.parametrize("seed", range(20))
def test_what_a_move_wins_is_what_the_traffic_between_nodes_loses(seed):
    problem = instance(seed, scale=2).problem()
    place_, dice = Placement(problem, fill(problem)), Random(seed)
    tasks = [task for task in range(problem.n) if problem.fixed[task] < 0 and place_.node_of[task] >= 0]
    for _ in range(60 if tasks else 0):
        task, node = dice.choice(tasks), dice.randrange(problem.m)
        other = dice.choice(tasks)
        before = problem.traffic.inter_node(np.array(place_.node_of))
        here, there = place_.node_of[task], place_.node_of[other]
        if node != here and place_.fits(task, node):
            gain = place_.pull(task, node) - place_.pull(task, here)
            place_.move(task, node)
        elif here != there:
            gain = place_.pull(task, there) - place_.pull(task, here)
            gain += place_.pull(other, here) - place_.pull(other, there) - 2 * place_.between(task, other)
            gain *= place_.swap(task, other)
        else:
            continue
        assert before - problem.traffic.inter_node(np.array(place_.node_of)) == gain


def test_it_closes_the_gap_of_the_greedy():
    """The star's greedy plan leaves 4,375 tuples/s between nodes; 3,750 is the least."""
    request = micro_benchmark("star", Setting())
    plan = improve(request.problem(), PlusOptions())
    assert plan.status is Status.OK
    assert plan.scores.inter_node == pytest.approx(3750)


def test_the_seed_of_the_request_decides():
    request = micro_benchmark("linear", Setting(ts=16))
    plans = [improve(attrs.evolve(request, seed=seed).problem(), STEPS) for seed in (0, 0, 1)]
    assert plans[0].assignment == plans[1].assignment
    assert plans[0].explanation != plans[2].explanation or plans[0].assignment == plans[2].assignment


def test_what_runs_stays_where_little_is_to_be_won():
    request = micro_benchmark("diamond", Setting())
    plan = improve(request.problem(), STEPS)
    running = attrs.evolve(request, assignment=plan.assignment)
    again = improve(running.problem(), STEPS)
    assert not again.moves
    assert again.explanation.startswith("what runs stays")

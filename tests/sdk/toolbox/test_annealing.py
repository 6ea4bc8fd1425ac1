"""Chains of annealing: what sets of tasks weigh, and placements that are feasible and never worse than a start."""

from __future__ import annotations

import numpy as np
import pytest

from headgate.model import Kind, Stream
from headgate.problem import Problem
from headgate.problem.workers import Workers
from headgate.toolbox.annealing import anneal_chains
from headgate.toolbox.node_costs import NodeCosts
from random_requests import random_request
from small_requests import component, node, request, topology
from tight_heaps import tight_heaps


@pytest.mark.parametrize("seed", range(40))
def test_a_set_weighs_what_its_tasks_exchange_and_exceed(seed):
    problem = Problem.of(tight_heaps(seed, fresh=True) if seed % 2 else random_request(seed))
    costs, rng, workers = NodeCosts.of(problem), np.random.default_rng(seed), Workers(problem)
    for at in range(problem.m):
        chosen = np.flatnonzero(costs.movable & (rng.random(problem.n) < 0.4))
        sets = np.zeros((1, problem.n))
        sets[0, chosen] = 1.0
        (local,), (excess,) = costs.weigh(sets, np.array([at]))
        alone = np.full(problem.n, -1)
        alone[chosen] = 0
        assert local == problem.traffic.total - problem.traffic.inter_node(alone)
        held = (problem.demand[chosen].sum(axis=0) <= problem.capacity[at]).all()
        assert (excess == 0) == (held and workers.needed(chosen.tolist())[0] <= problem.slots[at])


@pytest.mark.parametrize(("sizes", "small"), [(20, True), (21, False)])
def test_heaps_of_too_many_sizes_are_not_weighed(sizes, small):
    heaps = [component(f"c{number:02}", heap=1.0 + number) for number in range(sizes)]
    asked = request([node("a")], [topology("t", *heaps, worker_heap=1000.0)])
    assert (NodeCosts.of(Problem.of(asked)) is not None) == small  # 2**20 combinations


@pytest.mark.parametrize("seed", range(24))
def test_what_is_found_is_feasible_and_costs_no_more_than_a_start(seed):
    problem = Problem.of(tight_heaps(seed) if seed % 2 else random_request(seed))
    room, rng = problem.room(), np.random.default_rng(seed)
    for task in np.flatnonzero(problem.fixed < 0).tolist():
        fits = np.flatnonzero(room.fits(task))
        if len(fits):
            room.place(task, int(rng.choice(fits)))
    node_cost, start = problem.traffic.total // 100, room.node_of
    found = anneal_chains(problem, [start], node_cost=node_cost, steps=60, seed=seed)
    if found is None:
        return
    assert (found[problem.fixed >= 0] == problem.fixed[problem.fixed >= 0]).all()
    assert problem.plan(found).scores.unplaced == (found < 0).sum() <= (start < 0).sum()
    if (start >= 0).all():
        before, after = (problem.traffic.inter_node(at) + node_cost * len(set(at.tolist())) for at in (start, found))
        assert after <= before


def test_it_passes_through_what_no_node_holds():
    """Two full nodes whose tasks would change places, two against one: no move and no exchange of two tasks fits."""
    parts = [component("a", 2, cpu=25.0), component("b", cpu=50.0)]
    parts.append(component("c", cpu=50.0, kind=Kind.SPOUT, rate=100.0))
    streams = (Stream(source="c", target="a"),)
    asked = request([node("x"), node("y")], [topology("t", *parts, streams=streams)])
    problem = Problem.of(asked)
    start = np.array([0, 0, 0, 1])
    found = anneal_chains(problem, [start], node_cost=0, steps=60, seed=0)
    assert problem.traffic.inter_node(start) > 0 == problem.traffic.inter_node(found)


def test_a_large_problem_is_left_to_others():
    asked = request([node("x", cpu=1e6)], [topology("t", component("c", 300, cpu=1.0))])
    problem = Problem.of(asked)
    assert anneal_chains(problem, [np.zeros(300, dtype=np.int64)], node_cost=0, steps=10, seed=0) is None

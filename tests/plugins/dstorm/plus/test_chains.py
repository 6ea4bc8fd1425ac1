"""Chains of annealing: what sets of tasks weigh, and placements that are feasible and never worse than a start."""

from __future__ import annotations

import functools
from collections import Counter

import numpy as np
import pytest

from headworks.model import Kind, Stream
from headworks.problem import Problem
from headworks.problem.arrays.workers import Workers
from headworks_dstorm.plus.chains import _Chains, anneal_chains
from headworks_dstorm.plus.node_costs import NodeCosts
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


@pytest.mark.parametrize("seed", range(8))
def test_what_chains_weigh_step_by_step_is_what_they_weigh_at_once(seed):
    problem = Problem.of(tight_heaps(seed) if seed % 2 else random_request(seed))
    costs = NodeCosts.of(problem)
    start = np.where(problem.fixed >= 0, problem.fixed, -1)
    chains = _Chains(problem, costs, [start], 5, np.random.default_rng(seed))
    chains.cool(40, bool)
    stays = ~costs.movable
    assert (chains.at[:, stays] == start[stays]).all()
    local, excess, used = chains.local.copy(), chains.excess.copy(), chains.used.copy()
    chains._weigh_all(problem.m)
    assert (local == chains.local).all()
    assert excess == pytest.approx(chains.excess)
    assert (used == chains.used).all()


def test_annealing_ends_after_two_in_vain_that_follow_each_other():
    parts = [component("a", cpu=25.0), component("b", cpu=25.0, kind=Kind.SPOUT, rate=100.0)]
    asked = request([node("x"), node("y")], [topology("t", *parts, streams=(Stream(source="b", target="a"),))])
    problem, asks = Problem.of(asked), Counter()
    for start in ((0, 1), (0, 0)):
        ended = functools.partial(asks.update, [start])  # says None: go on
        found = anneal_chains(problem, [np.array(start)], node_cost=0, steps=30, seed=0, ended=ended)
        assert found[0] == found[1]
    # one that finds something and two in vain, or two in vain: it asks at every step, and between two annealings
    assert asks == {(0, 1): 3 * 30 + 2, (0, 0): 2 * 30 + 1}


def test_nodes_that_are_used_cost_and_tasks_that_may_not_move_stay():
    """No task exchanges anything with another: all go to the node of the one that stays, which has room for them."""
    parts = [component("a", cpu=10.0, movable=False), component("b", 8, cpu=10.0)]
    asked = request([node(name) for name in "uvwxyz"], [topology("t", *parts)], {"t/a/0": "z"})
    problem = Problem.of(asked)
    start = np.array([5, 0, 0, 1, 1, 2, 2, 3, 4])
    for seed in range(5):
        found = anneal_chains(problem, [start], node_cost=100, steps=200, seed=seed)
        assert found.tolist() == [5] * 9


def test_a_large_problem_is_left_to_others():
    asked = request([node("x", cpu=1e6)], [topology("t", component("c", 300, cpu=1.0))])
    problem = Problem.of(asked)
    assert anneal_chains(problem, [np.zeros(300, dtype=np.int64)], node_cost=0, steps=10, seed=0) is None

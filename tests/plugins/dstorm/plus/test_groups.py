"""Groups that move together: no placement is worse for it, and capacity, slots and fixed tasks are kept."""

import numpy as np
import pytest

from dstorm_instances import instance
from headworks.model import Kind, Stream
from headworks.problem import Problem
from headworks_dstorm.fast import place
from headworks_dstorm.options import PlusOptions
from headworks_dstorm.plus.exchange import Exchange
from headworks_dstorm.plus.fill import fill
from headworks_dstorm.plus.groups import regroup
from headworks_lab.benchmarks.schedulers.many_topologies import many_topologies
from small_requests import component, node, request, topology


def moved(problem, start, steps=500, node_cost=0):
    start = np.array(start)
    return regroup(problem, Exchange(problem), start, steps=steps, seed=1, node_cost=node_cost).tolist()


def pair(name, *cpu):
    parts = component("a", 1, cpu[0], kind=Kind.SPOUT, rate=10.0), component("b", 1, cpu[1])
    return topology(name, *parts, streams=(Stream(source="a", target="b"),))


def test_groups_change_places_where_no_single_task_could():
    """Of two nodes, each full of the half of two topologies, each holds one of them whole."""
    problem = Problem.of(request([node("x"), node("y")], [pair("t", 50.0, 50.0), pair("u", 50.0, 50.0)]))
    found = moved(problem, [0, 1, 0, 1])
    assert problem.traffic.inter_node(np.array(found)) == 0


def test_a_topology_leaves_a_node_for_good():
    problem = Problem.of(request([node("x"), node("y")], [pair("t", 20.0, 20.0), pair("u", 20.0, 20.0)]))
    assert len(set(moved(problem, [0, 0, 1, 1], node_cost=1))) == 1
    assert moved(problem, [0, 0, 1, 1]) == [0, 0, 1, 1]


@pytest.mark.parametrize("seed", range(40))
def test_no_placement_gets_worse_and_what_binds_it_is_kept(seed):
    problem = Problem.of(instance(seed, scale=1 + seed % 3))
    start, cost = fill(problem), problem.traffic.total // 100
    found = regroup(problem, Exchange(problem), start, steps=200, seed=seed, node_cost=cost)
    before, after = (
        problem.traffic.inter_node(each) + cost * len(np.unique(each[each >= 0])) for each in (start, found)
    )
    assert after <= before
    assert ((found < 0) == (start < 0)).all()
    fixed = problem.fixed >= 0
    assert (found[fixed] == problem.fixed[fixed]).all()
    assert (problem.used(found) <= np.maximum(problem.capacity, problem.used(start))).all()
    assert problem.plan(found).scores.unplaced <= problem.plan(start).scores.unplaced


@pytest.mark.parametrize("seed", [1, 2])
def test_they_gather_what_dstorm_divides(seed):
    problem = Problem.of(many_topologies(200, 6, seed))
    start = place(problem, PlusOptions())
    found = moved(problem, start, steps=3000)
    before, after = (problem.traffic.inter_node(np.array(each)) for each in (start, found))
    assert after * 10 < before

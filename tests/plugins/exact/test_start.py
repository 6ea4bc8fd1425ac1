"""Where there are too many ways to search, the answer is a packing: none is left out that has room."""

from __future__ import annotations

import random

import attrs
import numpy as np
import pytest

from headworks.model import Status
from headworks.plugins.host import PluginHost
from headworks.problem import Problem
from headworks_dstorm.workloads import BenchmarkSetting, micro_benchmark
from headworks_exact import by_topology, placement
from headworks_exact.options import Options
from headworks_exact.plugin import optimal
from headworks_exact.start import packings, start
from small_requests import component, node, request, topology

HOST = PluginHost().with_plugin("optimal", optimal)


@pytest.fixture(autouse=True)
def _nothing_is_searched(monkeypatch):
    monkeypatch.setattr(placement, "CLASSES", 0)
    monkeypatch.setattr(by_topology, "COMPONENTS", 0)


def unsearched(asked):
    return HOST.schedule("optimal", asked, Options())


def in_their_order(problem):
    """Plain first fit: tasks as they are numbered, nodes with most CPU first."""
    room = problem.room()
    order = sorted(range(problem.m), key=lambda each: (-problem.capacity[each, 0], each))
    for task in range(problem.n):
        at = next((each for each in order if room.fits(task)[each]), -1)
        if at >= 0:
            room.place(task, at)
    return room.node_of


def large_last():
    """Small tasks come first and fill the nodes that alone hold the large ones: a production cluster's shape."""
    nodes = [node("big-1", 100.0), node("big-2", 100.0), *(node(f"small-{number}", 60.0) for number in range(3))]
    return request(nodes, [topology("a", component("c", 6, 30.0)), topology("b", component("c", 2, 90.0))])


def slots_last():
    """CPU is left, slots are not: the worker that every second task needs was taken by tasks that need little."""
    nodes = [node("n1", 100.0, slots=2), node("n2", 90.0, slots=2)]
    light = topology("a", component("c", 2, 5.0, heap=50.0), worker_heap=50.0)
    heavy = topology("b", component("c", 2, 85.0, heap=50.0), worker_heap=50.0)
    return request(nodes, [light, heavy])


@pytest.mark.parametrize("asked", [large_last(), slots_last()], ids=["large", "slots"])
def test_what_plain_first_fit_leaves_out_is_placed(asked):
    assert (in_their_order(Problem.of(asked)) < 0).any()
    plan = unsearched(asked)
    assert plan.status is Status.OK
    assert plan.explanation == "proven optimum"  # nothing crosses nodes


def test_where_every_order_leaves_one_out_another_makes_way():
    parts = [component(f"c{number}", 1, cpu) for number, cpu in enumerate((40.0, 20.0, 50.0, 20.0, 30.0, 40.0))]
    asked = request([node("a", 100.0), node("b", 100.0)], [topology("t", *parts)])
    assert all((packing < 0).any() for packing in packings(Problem.of(asked)))
    assert unsearched(asked).status is Status.OK


def tight(seed):
    """Tasks on nodes at random, and nodes a fifth larger than that needs: a placement is known to be there."""
    dice, topologies = random.Random(seed), []
    for number in range(dice.randint(1, 4)):
        limit = dice.choice([None, 60.0, 100.0])
        heap = {} if limit is None else {"heap": float(dice.choice([10, 25, 40, 60]))}
        parts = [
            component(f"c{each}", dice.randint(2, 6), float(dice.choice([5, 10, 20, 30, 45, 60, 90])), **heap)
            for each in range(dice.randint(1, 3))
        ]
        topologies.append(topology(f"t{number}", *parts, **({} if limit is None else {"worker_heap": limit})))
    count = dice.randint(2, 6)
    room = Problem.of(request([node(f"n{at}", 1e6, slots=50) for at in range(count)], topologies)).room()
    weights = [dice.choice([1, 1, 2, 4]) for _ in range(count)]
    for task in range(len(room.node_of)):
        room.place(task, dice.choices(range(count), weights)[0])
    used, slots = 1e6 - room.free[:, 0], 50 - room.free_slots
    nodes = [node(f"n{at}", max(5.0, 1.2 * float(used[at])), slots=max(1, int(slots[at]))) for at in range(count)]
    return Problem.of(request(nodes, topologies))


def test_nearly_every_placement_that_is_there_is_found():
    plain = ours = 0
    for seed in range(100):
        problem = tight(seed)
        first, found = in_their_order(problem), start(problem)
        assert (found < 0).sum() <= (first < 0).sum()
        plain, ours = plain + bool((first >= 0).all()), ours + bool((found >= 0).all())
    assert plain < 80
    assert ours >= 95


def test_no_order_helps_where_there_is_too_little():
    asked = request([node("a", 100.0)], [topology("t", component("c", 3, 40.0))])
    assert start(Problem.of(asked)).tolist() == in_their_order(Problem.of(asked)).tolist()
    plan = unsearched(asked)
    assert plan.status is Status.INFEASIBLE
    assert [reason.subject for reason in plan.reasons] == ["tasks", "t/c/2"]


@pytest.mark.parametrize("shape", ["linear", "diamond", "star"])
def test_of_three_packings_of_all_tasks_it_is_the_one_with_least_traffic(shape):
    problem = Problem.of(micro_benchmark(shape, BenchmarkSetting(ts=12)))
    found = [problem.traffic.inter_node(each) for each in list(packings(problem))[:3]]
    assert problem.traffic.inter_node(start(problem)) == min(found) < max(found)


def test_what_runs_stays_where_a_packing_is_no_better():
    asked = large_last()
    running = unsearched(asked).assignment
    swapped = {**running, "b/c/0": running["b/c/1"], "b/c/1": running["b/c/0"]}
    plan = unsearched(attrs.evolve(asked, assignment=type(running)(swapped)))
    assert plan.moves == ()


def test_fixed_tasks_stay_and_nothing_is_a_placement_of_nothing():
    parts = (component("c", 2, 60.0), component("fixed", 1, 60.0, movable=False))
    asked = request([node("a", 100.0), node("b", 120.0)], [topology("t", *parts)], {"t/fixed/0": "b"})
    assert start(Problem.of(asked)).tolist()[2] == 1
    empty = Problem.of(request([], []))
    assert start(empty).shape == (0,)
    assert np.all(start(Problem.of(request([], [topology("t", component("c", 2))]))) == -1)

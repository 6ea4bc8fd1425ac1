from __future__ import annotations

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headworks.model import FrozenMap, Slot
from headworks.problem import Problem
from headworks.problem.plan.score import score
from headworks.testing.instances.strategies import requests
from small_requests import component, node, request, topology, word_count


@st.composite
def scored(draw):
    asked = draw(requests())
    slots = [Slot(each.id, port) for each in asked.cluster.nodes for port in each.slots]
    tasks = Problem.of(asked).task_ids
    places = draw(st.lists(st.sampled_from([None, *slots]), min_size=len(tasks), max_size=len(tasks)))
    found = {task: slot for task, slot in zip(tasks, places, strict=True) if slot is not None}
    return Problem.of(asked), FrozenMap(found)


@given(scored())
def test_every_figure_equals_its_definition(case):
    problem, assignment = case
    found = score(problem, assignment)
    nodes = {each.id: each for each in problem.request.cluster.nodes}
    use = {name: [0.0] * len(problem.resources) for name in nodes}
    for task, slot in assignment.items():
        for resource, need in enumerate(problem.demand[problem.task_index[task]].tolist()):
            use[slot.node][resource] += need
    share = {
        (name, resource): amount / max(problem.capacity[problem.node_index[name], resource], 2.0**-20)
        for name, amounts in use.items()
        for resource, amount in enumerate(amounts)
    }
    used = sorted({slot.node for slot in assignment.values()})
    cpu = [share[name, 0] for name in used]
    busy = [problem.wanted[at] / problem.thread_points[at] for at in map(problem.task_index.get, assignment)]
    prices = [nodes[name].price for name in used]
    runs = [task for task, on in zip(problem.task_ids, problem.current, strict=True) if on >= 0]
    assert found.nodes_used == len(used)
    assert found.workers == len({(slot.node, slot.port) for slot in assignment.values()})
    assert found.unplaced == problem.n - len(assignment)
    assert found.fullest_node == max(share.values(), default=0.0)
    assert found.moves == sum(assignment.get(task) != problem.request.assignment[task] for task in runs)
    assert found.cost == (pytest.approx(sum(prices)) if prices and None not in prices else None)
    matrix = problem.traffic.between(problem.node_of(assignment), problem.m)
    apart = problem.traffic.of_tasks.sum() / problem.traffic.scale / 2 - np.trace(matrix)
    assert found.inter_node == pytest.approx(apart)
    if found.unplaced == 0:
        links = np.concatenate([matrix.sum(axis=way) - np.diag(matrix) for way in (0, 1)])
        assert found.fullest_link == pytest.approx(links.max(initial=0.0) / max(found.traffic / problem.m, 1e-9))
    full = max(cpu + busy, default=0.0)
    assert found.factor == (pytest.approx(1 / full) if full else None)
    assert found.balance == (pytest.approx(min(cpu) / max(cpu)) if cpu and max(cpu) else None)
    assert 0 <= found.inter_node <= found.traffic
    assert found.share == (pytest.approx(found.inter_node / found.traffic) if found.traffic else 0.0)


def test_traffic_of_a_word_count_worked_out_by_hand():
    """100 tuples/s from the spout, 500 from the splitters, half of each over the network."""
    problem = Problem.of(word_count())
    on = dict(zip(problem.task_ids, "ababa", strict=True))  # count 0, 1, split 0, 1, spout
    found = score(problem, FrozenMap({task: Slot(name, 6700) for task, name in on.items()}))
    assert (found.traffic, found.inter_node, found.share) == (600.0, 300.0, 0.5)
    assert found.fullest_node == pytest.approx(0.75)
    assert found.factor == pytest.approx(1 / 0.75)
    assert found.balance == pytest.approx(55 / 75)


def test_a_task_that_is_nowhere_is_with_nobody():
    problem = Problem.of(word_count())
    assert score(problem, FrozenMap()).inter_node == 600.0


def test_cost_is_unknown_when_a_node_in_use_has_no_price():
    made = request([node("a", price=0.1), node("b", price=0.2), node("c")], [topology("t", component("c", 2))])
    problem = Problem.of(made)
    assert problem.plan([0, 1]).scores.cost == pytest.approx(0.3)
    assert problem.plan([0, 2]).scores.cost is None


def test_figures_stay_finite_on_a_node_without_the_resource_in_use():
    made = request([node("a", cpu=0.0)], [topology("t", component("c"))], {"t/c/0": "a"})
    found = score(Problem.of(made), made.assignment)
    assert all(abs(each) < 1e30 for each in attrs.astuple(found) if isinstance(each, float))


def test_a_network_that_is_full_bounds_the_load_that_a_plan_bears():
    """Half of 100 tuples/s of 100 bytes and of 500 of 20 are between nodes, worked out by hand."""
    asked = word_count()
    nodes = tuple(attrs.evolve(each, bandwidth=5_000.0) for each in asked.cluster.nodes)
    problem = Problem.of(attrs.evolve(asked, cluster=attrs.evolve(asked.cluster, nodes=nodes)))
    on = dict(zip(problem.task_ids, "ababa", strict=True))  # count 0, 1, split 0, 1, spout
    found = score(problem, FrozenMap({task: Slot(name, 6700) for task, name in on.items()}))
    assert (found.unit, found.inter_node) == ("bytes/s", 10_000.0)
    assert found.fullest_link == pytest.approx(1.5)  # a sends 5,000 + 2,500 bytes/s, and receives 2,500
    assert found.factor == pytest.approx(1 / 1.5)

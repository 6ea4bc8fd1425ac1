"""Schedulers that choose numbers of tasks keep to those that components can have while they run."""

from __future__ import annotations

import attrs
import pytest

from headworks.model import FrozenMap, Limits, Slot, Status
from headworks.plugins.host import PluginHost
from hetero_cases import profiled

HOST = PluginHost.load()
CHOOSE = ("hetero", "hetero-plus", "optimal")
COSTS = [[0.2, 0.1], [0.9, 0.5], [0.3, 0.4]]
OPTIONS = {
    "hetero-plus": {"trials": 20, "budget": 2_000_000},
    "optimal": {"effort": 0.001, "tolerance": 0.02, "ask": False},
}


def bounded(bounds, runs=(1, 1, 1), placed=False):
    """A chain of three components on three machines, of which some have bounds."""
    asked = profiled(COSTS, met=2.0, machines=(1, 2), limits=Limits(deadline=60.0))
    (topology,) = asked.topologies
    parts = tuple(
        attrs.evolve(part, parallelism=count, min_parallelism=least, max_parallelism=most)
        for part, count, (least, most) in zip(topology.components, runs, bounds, strict=True)
    )
    topology = attrs.evolve(topology, components=parts)
    node = asked.cluster.nodes[0]
    where = {task.id: Slot(node.id, node.slots[0]) for task in topology.tasks()} if placed else {}
    return attrs.evolve(asked, topologies=(topology,), assignment=FrozenMap(where))


def chosen(name, asked):
    plan = HOST.schedule(name, asked, OPTIONS.get(name, {}))
    assert plan.status is Status.OK, plan.reasons
    counts = [plan.parallelism[f"t/c{index}"] for index in range(3)]
    assert len(plan.assignment) == sum(counts)
    return counts, plan


@pytest.mark.parametrize("name", CHOOSE)
@pytest.mark.parametrize("placed", [False, True])
@pytest.mark.parametrize(
    ("bounds", "runs"),
    [
        ([(1, 1), (1, 2), (1, 1)], (1, 1, 1)),
        ([(2, 2), (1, 3), (3, 3)], (2, 2, 3)),
        ([(None, None), (4, 4), (None, 2)], (1, 4, 1)),
        ([(1, 1), (1, 1), (1, 1)], (1, 1, 1)),
    ],
)
def test_numbers_are_within_their_bounds(name, placed, bounds, runs):
    counts, plan = chosen(name, bounded(bounds, runs, placed))
    assert all((least or 1) <= count <= (most or 999) for count, (least, most) in zip(counts, bounds, strict=True))
    assert plan.scores.throughput > 0
    if name != "optimal":  # which searches any numbers, and is brought to such as can be
        assert "brought to" not in plan.explanation


@pytest.mark.parametrize("name", CHOOSE[:2])
def test_bounds_that_do_not_bind_change_nothing(name):
    free, wide = bounded([(None, None)] * 3), bounded([(1, 500)] * 3)
    (counts, plan), (same, other) = chosen(name, free), chosen(name, wide)
    assert max(counts) > 1
    assert (counts, plan.assignment, plan.input_rate) == (same, other.assignment, other.input_rate)


@pytest.mark.parametrize("name", CHOOSE[:2])
def test_a_bound_lets_more_tuples_through_the_wider_it_is(name):
    rates = [chosen(name, bounded([(1, 1), (1, most), (1, 1)]))[1].scores.throughput for most in (1, 2, 4)]
    assert rates == sorted(rates)
    assert rates[-1] > 1.2 * rates[0]

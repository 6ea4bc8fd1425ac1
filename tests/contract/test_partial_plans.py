"""Where no plan places every task, the schedulers that improve on `dstorm` leave no more tasks out than it does."""

from __future__ import annotations

import random

import attrs
import pytest

from headworks.model import FrozenMap, Limits, Resources, Slot
from headworks.problem import Problem
from headworks.testing.instances.build import SeededDice, Size, build_request, constrained
from small_requests import component, node, request, topology
from tiers import cases

FEWER = {"dstorm-plus": {"steps": 500}, "optimal": {"effort": 0.01}}
SIZE = Size(nodes=3, topologies=3, components=2, parallelism=4)


def crammed(seed):
    """A request with more topologies than slots or more tasks than room, mostly; some share a slot as they run."""
    draw = random.Random(f"crammed {seed}")
    dice = SeededDice(draw)
    asked = build_request(dice, SIZE)
    asked = constrained(dice, asked) if seed % 3 == 0 else asked
    slots = [Slot(each.id, port) for each in asked.cluster.nodes for port in each.slots]
    running = dict(asked.assignment)
    for task in (task for each in asked.topologies for task in each.tasks()):
        if seed % 2 and draw.random() < 0.5:
            running[task.id] = draw.choice(slots)
    limits = Limits(deadline=60.0, max_moves=draw.choice((None, None, None, 2)))
    return attrs.evolve(asked, assignment=FrozenMap(running), limits=limits)


def unplaced_by_what_runs(asked):
    problem = Problem.of(asked)
    return problem.plan(problem.current).scores.unplaced


@pytest.mark.parametrize("name", FEWER)
@pytest.mark.parametrize("first", cases(range(0, 200, 25), 2))
def test_no_more_stays_unplaced_than_by_dstorm_or_by_what_runs(name, first, headworks_host):
    for seed in range(first, first + 25):
        asked = crammed(seed)
        least = min(headworks_host.schedule("dstorm", asked).scores.unplaced, unplaced_by_what_runs(asked))
        plan = headworks_host.schedule(name, asked, FEWER[name])
        assert plan.scores.unplaced <= least, (seed, plan.reasons)


@pytest.mark.parametrize("name", FEWER)
def test_topologies_that_run_in_one_slot_are_not_all_dropped(name, headworks_host):
    """Two slots for three topologies, two of which share one: dstorm places two of them."""
    parts = [topology(each, component("c", cpu=10.0)) for each in "tuv"]
    asked = request([node("a")], parts, {"t/c/0": "a:6700", "u/c/0": "a:6700", "v/c/0": "a:6701"})
    plan = headworks_host.schedule(name, asked, FEWER[name])
    assert plan.scores.unplaced == 1


@pytest.mark.parametrize("name", FEWER)
def test_tasks_on_a_node_without_room_are_not_dropped_where_there_is_no_other(name, headworks_host):
    full = attrs.evolve(node("a"), capacity=Resources(cpu=50.0))
    asked = request([full], [topology("t", component("c", 3, cpu=30.0))], {f"t/c/{task}": "a" for task in range(3)})
    plan = headworks_host.schedule(name, asked, FEWER[name])
    assert (plan.scores.unplaced, plan.moves) == (0, ())

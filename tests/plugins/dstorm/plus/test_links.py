"""Loads of links in the annealing: exact after any changes, and kept low enough where nodes state a bandwidth."""

from __future__ import annotations

import random

import attrs
import numpy as np
import pytest

from headworks.model import (
    Cluster,
    Component,
    Kind,
    Limits,
    Node,
    Request,
    Resources,
    Status,
    Stream,
    Topology,
    TransferCost,
)
from headworks.plugins.host import PluginHost
from headworks.problem import Problem
from headworks_dstorm.plus.exchange import Exchange
from headworks_dstorm.plus.links import LoadLimits
from headworks_dstorm.plus.state import AnnealingState
from random_requests import random_request

HOST = PluginHost.load(["dstorm", "dstorm-plus", "even", "isolation", "resource-aware"])
MBIT = 125_000.0


@pytest.mark.parametrize("seed", range(80))
def test_loads_and_relief_are_those_of_a_placement_counted_anew(seed):
    cost = TransferCost(send=0.25, receive=0.5) if seed % 2 else TransferCost()
    problem = Problem.of(attrs.evolve(random_request(seed), transfer=cost))
    node_of, dice = problem.plan([0] * problem.n), np.random.default_rng(seed)
    node_of = problem.node_of(node_of.assignment)
    if problem.m < 2 or not (node_of >= 0).any():
        return
    limit = np.full(problem.m, float(problem.traffic.total // (2 * problem.m)))
    limits = LoadLimits(limit, problem.capacity[:, 0] / 2, problem.transfer)
    state = AnnealingState(problem, Exchange(problem), node_of, limits)
    for _ in range(30):
        if not len(state.tasks):
            return
        task, there = dice.choice(state.tasks, 1), dice.integers(0, problem.m, 1)
        there = np.where(there == state.node_of[task], (there + 1) % problem.m, there)
        beside = state.on[there[0], : state.count[there[0]]]
        other = dice.choice(beside, 1) if len(beside) and dice.random() < 0.5 else np.array([-1])
        before, told = state.links.excess(), state.links.relief(task, there, other)
        if state.change(task, there, other).all():
            # whole units of 2**46, but for the CPU of each node, which is rounded down
            assert before - state.links.excess() == pytest.approx(told[0], abs=0 if seed % 2 == 0 else 4)
        assert (state.links.loads == problem.traffic.links(state.node_of, problem.m)).all()


def narrow(seed):
    """Topologies at 40 to 85 % of some nodes, whose networks bear less than is sent, or hardly more."""
    dice = random.Random(seed)
    count, many = dice.choice((3, 4, 6)), dice.choice((1, 1, 2, 4))
    cpus = [200.0] * count if dice.random() < 0.6 else [dice.choice((100.0, 200.0, 400.0)) for _ in range(count)]
    each = sum(cpus) * dice.choice((0.4, 0.7, 0.85)) / many
    nodes = tuple(
        Node(
            id=f"n{index}",
            capacity=Resources(cpu=cpu, memory=9_999.0),
            slots=(1, 2, 3, 4),
            bandwidth=dice.choice((0.1, 0.3, 1.0, 3.0)) * MBIT,
        )
        for index, cpu in enumerate(cpus)
    )
    made = tuple(_chain(f"t{index}", each, 1_000.0 / many, dice) for index in range(many))
    return Request(cluster=Cluster(nodes=nodes), topologies=made, limits=Limits(deadline=60.0, fill=0.8))


def costly(seed):
    """The same without a bandwidth, where what crosses nodes takes up to as much CPU as tasks."""
    asked = narrow(seed)
    nodes = tuple(attrs.evolve(each, bandwidth=None) for each in asked.cluster.nodes)
    bare = attrs.evolve(asked, cluster=Cluster(nodes=nodes))
    traffic = Problem.of(bare).traffic
    each = sum(node.capacity.cpu for node in nodes) / (traffic.total / traffic.scale)
    cost = TransferCost(send=each * random.Random(seed).random(), receive=each / 2)
    return attrs.evolve(bare, transfer=cost)


def _chain(name, cpu, rate, dice):
    count = dice.choice((3, 4, 5))
    tasks = [dice.randint(2, 8) for _ in range(count)]
    parts = tuple(
        Component(
            id=f"c{index}",
            kind=Kind.BOLT if index else Kind.SPOUT,
            parallelism=number,
            demand=Resources(cpu=cpu / count / number, memory=10.0),
            rate=None if index else rate,
            selectivity=dice.choice((0.5, 1.0, 3.0)),
        )
        for index, number in enumerate(tasks)
    )
    streams = tuple(Stream(source=f"c{dice.randrange(index)}", target=f"c{index}") for index in range(1, count))
    return Topology(id=name, components=parts, streams=streams)


def borne(plan):
    """Factor of the load that a plan bears with headroom."""
    return min(1.0, 0.8 / plan.scores.fullest_node, plan.scores.factor) if plan.status is Status.OK else 0.0


@pytest.mark.parametrize("seed", range(36))
def test_no_other_scheduler_finds_a_plan_that_bears_clearly_more_load(seed):
    asked = narrow(seed) if seed < 24 else costly(seed)
    found = {name: HOST.schedule(name, asked) for name in HOST.schedulers}
    assert borne(found["dstorm-plus"]) >= 0.99 * max(map(borne, found.values()))


def test_the_objective_of_before_is_traffic_alone():
    asked = attrs.evolve(narrow(7), limits=Limits(deadline=20.0))
    load, traffic = (HOST.schedule("dstorm-plus", asked, {"objective": each}) for each in ("load", "traffic"))
    assert traffic.scores.share < load.scores.share
    assert traffic.scores.factor < load.scores.factor

"""The sorted first fit against the same rule written out plainly, with a sort wherever Storm sorts."""

import random
from itertools import pairwise

import pytest
from hypothesis import given

from baseline_cases import node_numbers, nodes, part
from baseline_cases import request as request_of
from baseline_cases import topology as topology_of
from headworks.model import Cluster, Component, Metrics, Node, Request, Resources, Stream, TaskSample, Topology
from headworks.problem import Problem
from headworks.testing.instances.build import Size
from headworks.testing.instances.strategies import requests
from headworks_baselines.order import connection_order
from headworks_baselines.proximity import Proximity
from headworks_baselines.resource_aware import ResourceAwareOptions, resource_aware
from headworks_baselines.rules import Racks
from headworks_baselines.start import start, waiting_by_component

STALE = (116, 257, 369, 383, 386, 406, 492, 522, 994, 1019)
"""Seeds of `crowd` in which the order of the last sort and the one that was due differ where it counts."""


def node_order(problem, room, topology, task):
    nodes = sorted(problem.request.cluster.nodes, key=lambda node: node.id)
    place = [(node.rack or "", node.hostname) for node in nodes]
    runs = [sum(room.node_of[problem.topology == topology] == index) for index in range(problem.m)]

    def share(members, whole):
        free = room.free[members].sum(axis=0)
        total = room.free[whole].sum(axis=0)
        signs = [1 if index < 2 or problem.demand[task, index] > 0 else -1 for index in range(len(total))]
        return [sign * (f / t if t > 0 else 0.0) for sign, f, t in zip(signs, free, total, strict=True)]

    def key(members, whole, name):
        shares = share(members, whole)
        return (-sum(runs[index] for index in members), -sum(shares), -min(shares), name)

    def members(test):
        return [index for index in range(problem.m) if test(place[index])]

    def whole_key(index):
        rack, host = place[index]
        everything = list(range(problem.m))
        in_rack = members(lambda each: each[0] == rack)
        in_host = members(lambda each: each == (rack, host))
        return (
            key(in_rack, everything, rack),
            key(in_host, in_rack, host),
            key([index], in_host, nodes[index].id),
        )

    return sorted(range(problem.m), key=whole_key)


def plainly(problem, room, topology, tasks):
    order, prior = [], None
    for task in tasks:
        if prior is None or problem.component[task] == problem.component[prior]:
            order = node_order(problem, room, topology, task)
        prior = task
        fits = room.fits(task)
        node = next((index for index in order if fits[index]), -1)
        if node >= 0:
            room.place(task, node)
        yield node


def crowd(seed):
    """Many tasks of several components on unlike nodes, so that one node takes several in a row before it is full."""
    chance = random.Random(seed)
    cluster = tuple(
        Node(
            id=f"n{number}",
            capacity=Resources(
                cpu=chance.choice((100, 150, 250)), memory=chance.choice((100, 150, 250)), gpu=chance.choice((0, 1, 2))
            ),
            slots=(1, 2),
            rack=(rack := chance.choice("xyz")),
            host=chance.choice((None, f"h{rack}")),
        )
        for number in range(chance.randint(3, 9))
    )
    parts = tuple(
        Component(
            id=f"c{number}",
            parallelism=chance.randint(1, 9),
            demand=Resources(
                cpu=chance.choice((0, 5, 20, 45)), memory=chance.choice((0, 5, 20, 45)), gpu=chance.choice((0, 0, 0.25))
            ),
        )
        for number in range(chance.randint(2, 5))
    )
    streams = tuple(Stream(source=a.id, target=b.id) for a, b in pairwise(parts) if chance.random() < 0.2)
    made = Topology(id="t", components=parts, streams=streams)
    measured = tuple(TaskSample(task=task.id, cpu=20.0) for task in made.tasks() if chance.random() < 0.1)
    metrics = Metrics(tasks=measured if chance.random() < 0.5 else ())
    return Request(cluster=Cluster(nodes=cluster), topologies=(made,), metrics=metrics)


@given(requests(Size(nodes=5, topologies=2, components=3, parallelism=5)))
def test_it_equals_the_rule_written_out(request):
    compare(request)


@pytest.mark.parametrize("block", range(3))
def test_it_equals_the_rule_on_nodes_that_take_many_tasks(block):
    for seed in range(40 * block, 40 * block + 40):
        compare(crowd(seed))


def test_an_order_that_was_due_before_another_components_task_is_that_of_before():
    for seed in STALE:
        compare(crowd(seed))


def test_equal_tasks_cost_a_sort_a_node_not_a_sort_a_task(monkeypatch):
    sorts, sort = [], Proximity._sorted
    monkeypatch.setattr(Proximity, "_sorted", lambda *given: sorts.append(given) or sort(*given))
    asked = request_of(nodes(*[(1000, 1000)] * 5), topology_of("t", [part("a", 100)]))
    plan = resource_aware.headworks_schedule(asked, ResourceAwareOptions())
    assert node_numbers(plan, "a") == [number // 20 for number in range(100)]
    assert len(sorts) == 5


def compare(request):
    problem = Problem.of(request)
    ours, theirs = start(problem, rebalance=False), start(problem, rebalance=False)
    racks = Racks.of(problem)
    for index, topology in enumerate(sorted(request.topologies, key=lambda each: each.id)):
        tasks = connection_order(topology, waiting_by_component(problem, ours, index))
        expected = list(plainly(problem, theirs, index, tasks))
        rule = Proximity(problem, ours, index, racks)
        for task, node in zip(tasks, expected, strict=True):
            assert rule.choose(task) == node
            if node >= 0:
                ours.place(task, node)

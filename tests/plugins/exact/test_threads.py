"""Throughput on nodes of several cores: the bound is that of threads, and no more tasks than buy something."""

from __future__ import annotations

from itertools import product

import attrs
import numpy as np
import pytest

from headworks.api import plan, workload
from headworks.model import Cluster, Component, Kind, Node, Profile, Request, Resources, Status, Stream, Topology
from headworks.toolbox.instance_counts import InstanceCounts
from threaded_requests import needs, threaded_request

QUICK = {"effort": 0.005, "ask": False}
FEW = {"budget": 1_000_000, "trials": 20}


def hot(nodes, most=None, threads=1, points=400.0):
    """A bolt of 1 ms of a core for each tuple on nodes of four cores; its spout costs nothing."""
    parts = (
        Component(id="s", kind=Kind.SPOUT, rate=1.0),
        Component(id="b", threads=threads, max_parallelism=most),
    )
    machines = tuple(Node(id=f"n{at}", capacity=Resources(cpu=points), machine_type="m") for at in range(nodes))
    return Request(
        cluster=Cluster(nodes=machines),
        topologies=(Topology(id="t", components=parts, streams=(Stream(source="s", target="b"),)),),
        profiles=(Profile(topology="t", component="b", machine_type="m", e=10.0 / points),),
    )


@pytest.mark.parametrize("ask", [True, False])
@pytest.mark.parametrize(
    ("nodes", "most", "threads", "points", "tasks", "rate"),
    [(1, None, 1, 400.0, 4, 4000.0), (3, None, 1, 400.0, 12, 12_000.0), (1, 1, 1, 400.0, 1, 1000.0),
     (3, 2, 1, 400.0, 2, 2000.0), (1, None, 4, 400.0, 1, 4000.0), (2, None, 1, 1600.0, 32, 32_000.0)],
)  # fmt: skip
def test_the_optimum_of_a_hot_bolt_is_proven_and_is_that_of_its_threads(nodes, most, threads, points, tasks, rate, ask):
    found = plan(hot(nodes, most, threads, points), "optimal", options={"ask": ask})
    assert found.input_rate == pytest.approx(rate, rel=1e-5)
    assert found.parallelism == {"t/b": tasks}
    assert found.bound.proven
    assert found.bound.value == pytest.approx(rate, rel=1e-4)


@pytest.mark.parametrize("hundred", range(5))
def test_no_task_of_500_random_requests_needs_more_than_its_threads_and_no_plan_beats_the_bound(hundred):
    whole = 0
    for number in range(100 * hundred, 100 * hundred + 100):
        made = threaded_request(number)
        found = plan(made, "optimal", options=QUICK)
        assert found.status is not Status.HELD, (number, found.reasons)
        if found.status is not Status.OK:
            continue
        whole += 1
        for task, (points, most) in needs(made, found).items():
            assert points <= most * (1 + 1e-6), (number, task)
        others = [plan(made, "hetero"), *([plan(made, "hetero-plus", options=FEW)] if number % 10 == 0 else [])]
        reached = max((each.scores.throughput or 0.0) for each in (found, *others) if each.status is Status.OK)
        if found.bound is not None:
            assert reached <= found.bound.value * (1 + 1e-6), number
    assert whole > 80


def small(number):
    """A random request of few components and nodes, whose counts can be listed."""
    made = threaded_request(number, "brute")
    topology = attrs.evolve(
        made.topologies[0], components=made.topologies[0].components[:2], streams=made.topologies[0].streams[:1]
    )
    nodes = tuple(
        attrs.evolve(each, capacity=Resources({**each.capacity, "cpu": min(each.capacity.cpu, 400.0)}))
        for each in made.cluster.nodes[:2]
    )
    names = {each.id for each in topology.components}
    profiles = tuple(each for each in made.profiles if each.component in names)
    return Request(cluster=Cluster(nodes=nodes), topologies=(topology,), profiles=profiles)


def listed(made, most=5):
    """The highest factor that any counts of at most some tasks a node sustain, by number of tasks."""
    instances = InstanceCounts.of(made)
    k, m = instances.profiled.e.shape
    best = {}
    for flat in product(range(most + 1), repeat=k * m):
        counts = np.array(flat, dtype=np.int64).reshape(k, m)
        total = counts.sum(axis=1)
        if ((total < instances.least) | (total > instances.most)).any() or counts[~instances.profiled.covers].any():
            continue
        rate = instances.profiled.max_factor(counts, np.maximum(instances.free, 0.0))
        best[int(total.sum())] = max(rate, best.get(int(total.sum()), 0.0))
    return best


@pytest.mark.parametrize("number", range(24))
def test_the_tasks_are_the_fewest_within_a_hundredth_of_the_best(number):
    made = small(number)
    found, best = (plan(made, "optimal", options={"ask": False, **more}) for more in ({}, {"within": 0.0}))
    every = listed(made)
    if not max(every.values(), default=0.0) > 0:
        assert not found.input_rate
        return
    stated = found.input_rate / InstanceCounts.of(made).profiled.input_rate
    assert found.input_rate >= 0.99 * best.input_rate * (1 - 1e-6)
    top = stated * best.input_rate / found.input_rate
    assert max(every.values()) <= top * (1 + 1e-3)
    fewest = min((tasks for tasks, rate in every.items() if rate >= 0.99 * top), default=99)
    assert sum(found.parallelism.values()) <= fewest


def test_no_hundreds_of_tasks_for_a_thousandth_of_the_rate():
    """The highest rate of Linear takes hundreds of tasks on three machines, and 12 come within a hundredth of it."""
    found = plan(workload("hetero:linear-three"), "optimal", deadline=60, options={"effort": 0.02})
    assert sum(found.parallelism.values()) <= 12
    assert 0.99 * found.bound.value <= found.scores.throughput * (1 + 1e-3)
    assert found.bound.proven
    assert "of the proven optimum, of any numbers of tasks: its 618" in found.explanation

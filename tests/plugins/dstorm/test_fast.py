"""The fast file places exactly what the literal Algorithm 1 places, for every option."""

from __future__ import annotations

import random
import tracemalloc
from itertools import pairwise

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headworks_dstorm.fast as fast_module
from dstorm_instances import instance, shuffled
from headworks.model import (
    Cluster,
    Component,
    Flow,
    Kind,
    Metrics,
    Node,
    Request,
    Resources,
    Stream,
    TaskSample,
    Topology,
)
from headworks.problem import Problem
from headworks_dstorm.algorithm1 import place_literally
from headworks_dstorm.fast import _Machine, place
from headworks_dstorm.options import Options

READINGS = (
    Options(),
    Options(beta=0),
    Options(threshold=1.0),
    Options(alpha=0.3, beta=0.7),
    Options(threshold=0.3),
    Options(alpha=0),
    Options(threshold_usage="after"),
    Options(threshold_usage="after", threshold=0.4, costless="last"),
    Options(costless="last"),
    Options(alpha=0, beta=0),
)


@pytest.mark.parametrize("block", range(13))
def test_both_place_alike_on_seeded_instances(block: int, small_steps) -> None:
    failures = 0
    for seed in range(block * 25, block * 25 + 25):
        small_steps(seed)
        options = READINGS[seed % len(READINGS)]
        problem = Problem.of(instance(seed, scale=1 + seed % 3))
        expected, found = place_literally(problem, options), place(problem, options)
        np.testing.assert_array_equal(found, expected, err_msg=f"seed {seed}, {options}")
        failures += bool((expected < 0).any())
    assert 0 < failures < 25  # both ends of the algorithm are met


@settings(deadline=None, max_examples=100)
@given(
    seed=st.integers(1000, 10**6),
    alpha=st.floats(0, 50),
    beta=st.floats(0, 50),
    threshold=st.floats(0, 1.2),
    usage=st.sampled_from(["before", "after"]),
    costless=st.sampled_from(["first", "last"]),
)
def test_both_place_alike_for_any_options(
    seed: int, alpha: float, beta: float, threshold: float, usage: str, costless: str
) -> None:
    options = Options(alpha=alpha, beta=beta, threshold=threshold, threshold_usage=usage, costless=costless)
    problem = Problem.of(instance(seed))
    np.testing.assert_array_equal(place(problem, options), place_literally(problem, options))


def different(tasks: int) -> Request:
    """Chains of tasks that are measured, each of another size, with the same traffic from one to the next."""
    dice = random.Random(7)
    components = (Component(id="a", kind=Kind.SPOUT, parallelism=tasks // 2), Component(id="b", parallelism=tasks // 2))
    names = [f"t/{part}/{index}" for index in range(tasks // 2) for part in "ab"]
    samples = (TaskSample(task=each, cpu=dice.uniform(2, 30), memory=dice.uniform(20, 400)) for each in names)
    flows = (Flow(source=one, target=other, tuples=2.0) for one, other in pairwise(names))
    nodes = (
        Node(id=f"n{number:03}", capacity=Resources(cpu=400.0, memory=8192.0), slots=(6700,))
        for number in range(tasks // 10)
    )
    return Request(
        cluster=Cluster(nodes=tuple(nodes)),
        topologies=(Topology(id="t", components=components),),
        metrics=Metrics(window=10.0, tasks=tuple(samples), flows=tuple(flows)),
    )


def test_tasks_that_are_all_different_are_compared_a_few_times_for_each_that_is_placed(monkeypatch) -> None:
    """Where their bounds are close, one by one would compete: 2.4 comparisons each here, and 10 among 10,000 tasks."""
    compared, compare = [], _Machine._priority
    monkeypatch.setattr(_Machine, "_priority", lambda *given: compared.append(1) or compare(*given))
    found = place(Problem.of(different(1_000)), Options())
    assert (found >= 0).all()
    assert len(compared) < 1.5 * len(found)


@pytest.fixture
def small_steps(monkeypatch):
    """Look ahead as far as for large problems, not at all, or by one; bound little, or nothing; compare few or many."""

    def choose(seed: int) -> None:
        monkeypatch.setattr(fast_module, "AHEAD", (8, 1, 2)[seed % 3])
        monkeypatch.setattr(fast_module, "LEAST", (2.0**-32, 2.0**-3, 2.0)[seed // 2 % 3])
        monkeypatch.setattr(fast_module, "MORE", (1, 3, 8)[seed // 3 % 3])

    return choose


@pytest.mark.parametrize("seed", range(20))
def test_the_order_of_a_request_does_not_matter(seed: int) -> None:
    request = instance(seed)
    problem, other = Problem.of(request), Problem.of(shuffled(request, seed + 1))
    assert problem.task_ids == other.task_ids
    np.testing.assert_array_equal(place(problem, Options()), place(other, Options()))


@pytest.mark.parametrize("seed", range(30))
def test_room_is_never_overdrawn(seed: int) -> None:
    problem = Problem.of(instance(seed))
    node_of = place(problem, Options())
    room = problem.room()
    for task in np.flatnonzero((node_of >= 0) & (problem.fixed < 0)).tolist():
        assert (room.free[node_of[task]] >= problem.demand[task]).all()
        room.place(task, int(node_of[task]))


def test_nothing_to_place() -> None:
    empty = Request(cluster=Cluster(nodes=(Node(id="n", capacity=Resources(cpu=100)),)))
    assert place(Problem.of(empty), Options()).tolist() == []
    assert place_literally(Problem.of(empty), Options()).tolist() == []


def test_no_nodes() -> None:
    request = Request(topologies=(Topology(id="t", components=(Component(id="c", parallelism=3),)),))
    assert place(Problem.of(request), Options()).tolist() == [-1, -1, -1]


@pytest.mark.parametrize("sizes", ["equal", "different"])
def test_a_wide_stream_stays_one_number(sizes: str) -> None:
    """Nine million pairs of tasks exchange tuples; neither they nor a task's peers are ever listed."""
    request = _wide(3_000, nodes=14)
    problem = Problem.of(request)
    if sizes == "different":
        demand = problem.demand + np.arange(problem.n)[:, None] * 2.0**-20
        problem = attrs.evolve(problem, demand=demand)
    tracemalloc.start()
    try:
        node_of = place(problem, Options())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (node_of >= 0).all()
    assert peak < 10e6


def _wide(tasks: int, nodes: int) -> Request:
    components = tuple(
        Component(id=name, kind=kind, parallelism=tasks, rate=1000.0, demand=Resources(cpu=1, memory=1))
        for name, kind in (("a", Kind.SPOUT), ("b", Kind.BOLT))
    )
    topology = Topology(id="t", components=components, streams=(Stream(source="a", target="b"),))
    capacity = Resources(cpu=500, memory=500)
    return Request(
        cluster=Cluster(nodes=tuple(Node(id=f"n{number:02d}", capacity=capacity) for number in range(nodes))),
        topologies=(topology,),
    )


@pytest.mark.parametrize("seed", range(10))
def test_room_on_one_node_is_room_on_all(seed: int) -> None:
    problem = Problem.of(instance(seed))
    room = problem.room()
    for task in np.flatnonzero(problem.fixed < 0).tolist():
        fits = room.fits(task)
        assert [room.fits_on(task, node) for node in range(problem.m)] == fits.tolist()
        if fits.any():
            room.place(task, int(fits.argmax()))


def test_a_machine_looks_at_hardly_more_groups_than_it_takes(monkeypatch) -> None:
    # a task takes twice the share of memory that it takes of CPU, and on an empty machine neither is critical alone
    spout = Component(id="spout", kind=Kind.SPOUT, parallelism=2, demand=Resources(cpu=10.0, memory=50.0), rate=1.0)
    bolt = Component(id="bolt", parallelism=2, demand=Resources(cpu=10.0, memory=50.0))
    topologies = tuple(
        Topology(
            id=f"t{number:03}",
            components=(attrs.evolve(spout, rate=500.0 + 7.0 * number), bolt),
            streams=(Stream(source="spout", target="bolt"),),
        )
        for number in range(100)
    )
    capacity = Resources(cpu=400.0, memory=1000.0)
    nodes = tuple(Node(id=f"n{number:02}", capacity=capacity, slots=tuple(range(10))) for number in range(25))
    problem = Problem.of(Request(cluster=Cluster(nodes=nodes), topologies=topologies))
    entered = []
    enter = fast_module._Machine._enter
    monkeypatch.setattr(
        fast_module._Machine, "_enter", lambda self, groups: (entered.extend(groups), enter(self, groups))[1]
    )
    found = place(problem, Options())
    np.testing.assert_array_equal(found, place_literally(problem, Options()))
    assert len(entered) < 2 * 200  # of 200 groups each fits on one machine

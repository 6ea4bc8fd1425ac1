"""On nodes of several cores both schedulers choose as many tasks as fill the cores, and no task beyond its threads."""

from __future__ import annotations

import pytest

from headworks.api import plan
from headworks.model import Cluster, Component, Kind, Node, Profile, Request, Resources, Status, Stream, Topology
from threaded_requests import needs, threaded_request

OPTIONS = {"hetero": {}, "hetero-plus": {"budget": 1_000_000, "trials": 20}}


def hot(nodes, threads=1, most=None, met=0.0):
    """A bolt of 1 ms of a core for each tuple on nodes of four cores; its spout costs nothing."""
    parts = (
        Component(id="s", kind=Kind.SPOUT, rate=1.0),
        Component(id="b", threads=threads, max_parallelism=most),
    )
    machines = tuple(Node(id=f"n{at}", capacity=Resources(cpu=400.0), machine_type="m") for at in range(nodes))
    return Request(
        cluster=Cluster(nodes=machines),
        topologies=(Topology(id="t", components=parts, streams=(Stream(source="s", target="b"),)),),
        profiles=(Profile(topology="t", component="b", machine_type="m", e=0.025, met=met),),
    )


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize(
    ("nodes", "threads", "most", "tasks", "rate"),
    [(1, 1, None, 4, 4000.0), (3, 1, None, 12, 12_000.0), (1, 4, None, 1, 4000.0), (3, 1, 1, 1, 1000.0),
     (3, 1, 5, 5, 5000.0), (1, 2, None, 2, 4000.0)],
)  # fmt: skip
def test_a_bolt_of_a_millisecond_on_nodes_of_four_cores_has_a_task_for_each_core(
    name, nodes, threads, most, tasks, rate
):
    found = plan(hot(nodes, threads, most), name)
    assert found.input_rate == pytest.approx(rate, rel=1e-3)
    assert found.parallelism == {"t/b": tasks}


@pytest.mark.parametrize("name", OPTIONS)
def test_the_numbers_that_are_given_bear_what_their_threads_bear(name):
    found = plan(hot(3), name, options={"counts": "given"})
    assert (found.parallelism, found.input_rate) == ({"t/b": 1}, pytest.approx(1000.0, rel=1e-3))


@pytest.mark.parametrize("name", OPTIONS)
def test_tasks_whose_fixed_cost_fills_their_threads_are_placed_and_take_no_tuple(name):
    found = plan(hot(1, met=25.0), name)
    assert (found.status, found.input_rate) == (Status.OK, 0.0)
    assert "the threads of a task are full before the first tuple" in found.explanation


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("hundred", range(5))
def test_no_task_of_500_random_requests_needs_more_than_its_threads(name, hundred):
    whole = 0
    for number in range(100 * hundred, 100 * hundred + 100):
        made = threaded_request(number)
        found = plan(made, name, options=OPTIONS[name])
        assert found.status is not Status.HELD, (number, found.reasons)
        if found.status is Status.OK:
            whole += 1
            for task, (points, most) in needs(made, found).items():
                assert points <= most * (1 + 1e-6), (number, task)
    assert whole > 80


def test_the_variant_is_never_worse_than_the_published_algorithms():
    for number in range(60):
        made = threaded_request(number, "worse")
        literal, found = (plan(made, name, options=OPTIONS[name]) for name in ("hetero", "hetero-plus"))
        assert (found.input_rate or 0.0) >= (literal.input_rate or 0.0) * (1 - 1e-9), number

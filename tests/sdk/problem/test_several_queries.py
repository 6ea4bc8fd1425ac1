"""Several sequential topologies on the same nodes: they share slots and cores, and none makes another's batch long."""

from __future__ import annotations

from itertools import pairwise

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headworks.model import Cluster, Kind, Limits, Status, Stream
from headworks.plugins.host import PluginHost
from headworks.problem import Problem
from headworks.problem.plan.check import check_plan
from small_requests import component, node, request, topology

HOST = PluginHost.load()
EQUAL, UNEQUAL = (200.0, 200.0, 200.0), (400.0, 200.0, 100.0)


def queries(count, cpus=EQUAL, *, load=0.2, tasks=6, slowdown=1.0):
    """Queries of two stages, which use a share of all cores together, on an engine that shares slots."""
    points = load * sum(cpus) / (count * 2 * tasks)
    parts = [component(name, tasks, points) for name in ("a", "b")]
    streams = tuple(Stream(source=one.id, target=two.id, rate=10.0) for one, two in pairwise(parts))
    made = [attrs.evolve(topology(f"q{number}", *parts, streams=streams), sequential=True) for number in range(count)]
    nodes = [node(f"n{number}", cpu, slots=1) for number, cpu in enumerate(cpus)]
    asked = attrs.evolve(request(nodes, made), limits=Limits(slowdown=slowdown, deadline=30.0))
    return attrs.evolve(asked, cluster=attrs.evolve(asked.cluster, shared_slots=True))


@pytest.mark.parametrize("cpus", [EQUAL, UNEQUAL])
@pytest.mark.parametrize("count", [1, 2, 4, 8])
@pytest.mark.parametrize("name", ["even", "resource-aware", "dstorm", "dstorm-plus"])
def test_every_query_is_placed_and_no_batch_is_longer_than_by_the_engine_itself(name, count, cpus):
    asked = queries(count, cpus)
    plan, problem = HOST.schedule(name, asked), Problem.of(asked)
    assert plan.status is Status.OK
    limit = problem.slowdown
    assert limit is not None
    took = limit.seconds(problem.node_of(plan.assignment))
    assert all(each <= most * 1.000001 for each, most in zip(took, limit.goals, strict=True))


def test_queries_that_claim_nodes_get_them_whatever_that_does_to_batches():
    asked = queries(2)
    claims = [attrs.evolve(each, desired_nodes=2, minimum_nodes=1) for each in asked.topologies]
    problem = Problem.of(attrs.evolve(asked, topologies=tuple(claims)))
    assert problem.slowdown is None
    assert Problem.of(asked).slowdown is not None


def test_a_batch_runs_on_what_the_others_leave_of_each_core():
    """Each query has two tasks of 40 points in each stage: on a node of two cores the other one takes 80 % of them."""
    asked = queries(2, (200.0, 200.0), tasks=2, load=0.8)
    problem = Problem.of(asked)
    first, together = [0, 0, 0, 0, 1, 1, 1, 1], [0] * 8
    apart, beside = (problem.batches[0].beside(np.array(each)) for each in (first, together))
    assert apart.speed.tolist() == [1.0, pytest.approx(0.2)]
    assert beside.speed.tolist() == [pytest.approx(0.2), 1.0]
    assert apart.seconds(np.array(first)) == pytest.approx(0.8)
    assert beside.seconds(np.array(together)) == pytest.approx(4.0)


def test_a_node_with_half_a_core_leaves_a_batch_half_of_what_a_whole_one_does():
    """The other query takes 20 points: a fifth of a whole core, and two fifths of half a core."""
    whole, half = (
        Problem.of(queries(2, (cpu, 100.0), tasks=1, load=0.4 * 100 / (cpu + 100.0))) for cpu in (100.0, 50.0)
    )
    together = np.zeros(4, dtype=np.int64)
    assert whole.batches[0].beside(together).speed.tolist() == [pytest.approx(0.8), 1.0]
    assert half.batches[0].beside(together).speed.tolist() == [pytest.approx(0.5 * 0.6), 1.0]


def test_a_batch_has_the_links_and_cores_that_the_fetches_of_others_leave():
    """Half of 200 bytes/s go to the other node: each takes in 50, a twentieth of its link, and waits as long."""
    asked = queries(2, (200.0, 200.0), tasks=2, load=0.4)
    streams = [tuple(attrs.evolve(each, tuple_bytes=20.0) for each in one.streams) for one in asked.topologies]
    nodes = tuple(attrs.evolve(each, bandwidth=1000.0) for each in asked.cluster.nodes)
    made = tuple(attrs.evolve(one, streams=own) for one, own in zip(asked.topologies, streams, strict=True))
    asked = attrs.evolve(asked, topologies=made, cluster=attrs.evolve(asked.cluster, nodes=nodes))
    spread, packed = [0, 1] * 4, [0, 1] * 2 + [0] * 4
    batch = Problem.of(asked).batches[0]
    apart, beside = (batch.beside(np.array(each)) for each in (packed, spread))
    assert apart.bandwidth.tolist() == [pytest.approx(600.0), pytest.approx(1000.0)]
    assert beside.bandwidth.tolist() == [pytest.approx(750.0)] * 2
    assert beside.speed.tolist() == [pytest.approx(0.75)] * 2


def test_engines_that_share_no_slots_refuse_a_second_topology_in_one():
    asked = queries(2)
    plan = HOST.schedule("even", asked)
    alone = attrs.evolve(asked, cluster=Cluster(nodes=asked.cluster.nodes))
    assert {each.code for each in check_plan(Problem.of(alone), plan)} == {"shared-slot"}
    assert check_plan(Problem.of(asked), plan) == ()


@given(
    count=st.integers(1, 4),
    load=st.floats(0.05, 0.6),
    cpus=st.sampled_from([EQUAL, UNEQUAL]),
    name=st.sampled_from(["even", "dstorm", "dstorm-plus", "resource-aware", "round-robin"]),
)
def test_a_plan_moves_nothing_when_it_is_asked_again(count, load, cpus, name):
    if name not in HOST.schedulers:
        return
    asked = queries(count, cpus, load=load)
    first = HOST.schedule(name, asked)
    again = HOST.schedule(name, attrs.evolve(asked, assignment=first.assignment))
    assert again.moves == ()


def word_counts(cpus, load):
    """Two queries of three stages that shuffle, which need a share of all cores together."""
    points = load * sum(cpus) / 2
    parts = [
        component("a", 4, points * 0.10 / 4, kind=Kind.SPOUT, rate=500.0),
        component("b", 8, points * 0.40 / 8, selectivity=9.0),
        component("c", 8, points * 0.50 / 8),
    ]
    streams = (Stream(source="a", target="b"), Stream(source="b", target="c", grouping="fields"))
    made = [attrs.evolve(topology(f"q{number}", *parts, streams=streams), sequential=True) for number in range(2)]
    nodes = [attrs.evolve(node(f"n{number}", cpu), bandwidth=2.5e6) for number, cpu in enumerate(cpus)]
    return attrs.evolve(request(nodes, made), limits=Limits(slowdown=1.0, deadline=30.0, fill=0.8))


def test_a_decision_whose_batches_are_a_little_too_long_is_balanced_and_not_replaced():
    """Each query on one node and half of another: less than two thirds of the bytes are between nodes, as by Spark."""
    asked = word_counts(EQUAL, 0.7)
    plan, problem = HOST.schedule("dstorm-plus", asked), Problem.of(asked)
    limit = problem.slowdown
    assert not limit.slow(problem.node_of(plan.assignment))
    assert plan.scores.share < 0.5 < problem.traffic.inter_node(limit.free) / problem.traffic.total


def test_of_two_plans_without_headroom_the_one_with_shorter_batches_is_taken():
    asked = word_counts(UNEQUAL, 0.85)
    plan, problem = HOST.schedule("dstorm-plus", asked), Problem.of(asked)
    limit = problem.slowdown
    assert max(limit.seconds(problem.node_of(plan.assignment))) < max(limit.seconds(limit.free))
    assert plan.scores.share < 0.5

"""The steady state against closed forms: the core's rates and scores, and Eq. 5 of the heterogeneity paper."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headworks.errors import DocumentError
from headworks.model import Flow, Kind, Metrics, Profile, Stream
from headworks.problem import Problem
from headworks.problem.plan.score import score
from headworks.testing.instances.strategies import requests
from headworks_sim.fluid.layout import Layout
from headworks_sim.fluid.steady import Model, fill
from headworks_sim.fluid.streams import flow_through, pairs
from headworks_sim.fluid.timing import Timing
from small_requests import component, node, request, topology, word_count


def placed(made, seed):
    """A model and a random placement: node and worker of each task."""
    layout = Layout.of(made)
    problem = layout.problem
    dice = np.random.default_rng(seed)
    node_of = dice.integers(0, problem.m, problem.n)
    return Model(layout), node_of, node_of * 10 + problem.topology


def without_local(made):
    topologies = tuple(
        attrs.evolve(
            each, streams=tuple(attrs.evolve(s, grouping=s.grouping.replace("local-or-", "")) for s in each.streams)
        )
        for each in made.topologies
    )
    return attrs.evolve(made, topologies=topologies)


@settings(max_examples=40)
@given(requests(fresh=True), st.integers(0, 9))
def test_pairs_and_shares_between_nodes_are_those_of_the_core(made, seed):
    made = without_local(made)
    model, node_of, worker = placed(made, seed)
    problem = model.layout.problem
    steady = model.steady(node_of, worker, np.ones(len(made.topologies)))
    traffic = sum(share.traffic for share in steady.shares)
    inter = sum(share.inter_node for share in steady.shares)
    assert traffic == pytest.approx(problem.traffic.total / problem.traffic.scale, rel=1e-9)
    assert inter == pytest.approx(problem.traffic.inter_node(node_of) / problem.traffic.scale, rel=1e-9)
    for graph, share in zip(model.layout.topologies, steady.shares, strict=True):
        own = slice(graph.start, graph.stop)
        senders, receivers, rates, _ = pairs(graph, share.current, worker[own])
        assert rates.sum() == pytest.approx(share.traffic, rel=1e-9)
        assert rates[node_of[own][senders] != node_of[own][receivers]].sum() == pytest.approx(
            share.inter_node, rel=1e-9
        )
        assert share.delivered in (0.0, pytest.approx(1.0))


@settings(max_examples=40)
@given(requests(fresh=True), st.integers(0, 9))
def test_the_factor_of_one_topology_is_what_its_fullest_node_and_its_fullest_task_allow(made, seed):
    made = attrs.evolve(made, topologies=tuple(without_local(made).topologies[:1]))
    model, node_of, worker = placed(made, seed)
    steady = model.steady(node_of, worker, np.array([np.inf]))
    layout, share = model.layout, steady.shares[0]
    slope, fixed = (np.bincount(node_of, each, layout.problem.m) for each in (share.slope, share.fixed))
    with np.errstate(divide="ignore", invalid="ignore"):
        by_nodes = np.where(slope > 0, np.maximum(layout.capacity - fixed, 0) / slope, np.inf).min(initial=np.inf)
        by_tasks = (layout.problem.thread_points / share.slope)[share.slope > 0].min(initial=np.inf)
    closed = min(by_nodes, by_tasks)
    assert steady.factor[0] == pytest.approx(closed if np.isfinite(closed) else 1.0)
    assert steady.limit[0] == pytest.approx(closed)
    loaded = steady.node_cpu[slope > 0]
    if np.isfinite(closed) and closed > 0:
        assert loaded.max() <= layout.capacity.max() * (1 + 1e-9)
        full = np.isclose(steady.node_cpu, layout.capacity)[slope > 0].any()
        assert full or np.isclose(steady.cpu, layout.problem.thread_points).any()


def test_back_pressure_settles_at_the_sustainable_factor_of_the_scores():
    made = word_count()
    model, *_ = placed(made, 0)
    plan = model.layout.problem.plan([0, 0, 0, 1, 1])
    node_of = model.layout.problem.node_of(plan.assignment)
    steady = model.steady(node_of, node_of, np.array([np.inf]))
    assert steady.factor[0] == pytest.approx(score(model.layout.problem, plan.assignment).factor)
    assert steady.throughput[0] == pytest.approx(100.0 * steady.factor[0])


def chain(selectivities, tasks, rate, **more):
    """A spout and bolts in a row."""
    parts = [
        component(
            f"c{number}",
            n,
            0.0,
            selectivity=alpha,
            kind=Kind.BOLT if number else Kind.SPOUT,
            rate=None if number else rate,
        )
        for number, (alpha, n) in enumerate(zip(selectivities, tasks, strict=True))
    ]
    streams = tuple(Stream(source=f"c{number}", target=f"c{number + 1}") for number in range(len(parts) - 1))
    return topology("t", *parts, streams=streams, **more)


def test_cpu_of_a_task_is_rate_times_cost_plus_overhead():
    made = request(
        [node("a", 400.0, machine_type="big")],
        [topology("t", component("s", 1, 0.0, kind=Kind.SPOUT, rate=500.0, threads=4))],
        profiles=(Profile(topology="t", component="s", machine_type="big", e=0.1, met=2.0),),
    )
    model, node_of, worker = placed(made, 0)
    steady = model.steady(node_of, worker, np.ones(1))
    assert steady.cpu[0] == pytest.approx(52.0 * 4), "52 percent of a machine of 400 points"
    assert model.steady(node_of, worker, np.array([np.inf])).factor[0] == pytest.approx(98 / 50)


def test_a_chain_of_three_has_the_rates_of_the_papers_example():
    made = request([node("a")], [chain((1.0, 0.5, 2.0), (1, 2, 3), 120.0)])
    graph = Layout.of(made).topologies[0]
    current = flow_through(graph, np.zeros(6, dtype=np.int64))
    assert current.links == (120.0, 60.0)
    assert current.work.tolist() == [120.0, 60.0, 60.0, 20.0, 20.0, 20.0]


def test_tuples_for_a_missing_task_are_lost():
    graph = Layout.of(request([node("a")], [chain((1.0, 1.0, 1.0), (1, 2, 4), 120.0)])).topologies[0]
    current = flow_through(graph, np.array([0, 0, -1, 0, 0, 0, 0]))
    assert current.work.tolist() == [120.0, 60.0, 0.0, 15.0, 15.0, 15.0, 15.0]


def test_pairs_are_of_tasks_that_run():
    parts = component("s", 2, 1.0, kind=Kind.SPOUT, rate=100.0), component("b", 2, 1.0)
    made = request([node("a")], [topology("t", *parts, streams=(Stream(source="s", target="b"),))])
    plumbing, workers = Layout.of(made).topologies[0], np.array([0, -1, 0, -1])  # b0, b1, s0, s1
    senders, receivers, rates, _ = pairs(plumbing, flow_through(plumbing, workers), workers)
    assert (senders.tolist(), receivers.tolist(), rates.tolist()) == ([2], [0], [25.0])  # of 100, half twice


def in_a_row(node_of, cpu=(20.0, 30.0), hop=0.5):
    """Latency of a spout and a bolt of one task each, 100 tuples/s, on nodes of 100 points; the bolt comes first."""
    parts = component("s", 1, cpu[0], kind=Kind.SPOUT, rate=100.0), component("b", 1, cpu[1])
    made = request([node("n0"), node("n1")], [topology("t", *parts, streams=(Stream(source="s", target="b"),))])
    places = np.array(node_of)
    return Model(Layout.of(made), Timing(hop=hop)).steady(places, places, np.ones(1)).latency[0]


def test_latency_is_service_time_stretched_by_the_load_of_the_node_and_hops_between_nodes():
    # 2 ms and 3 ms of work a tuple, on nodes that are busy for 20 % and 30 %, or for 50 % together
    assert in_a_row([1, 0]) == pytest.approx(2 / 0.8 + 0.5 + 3 / 0.7)
    assert in_a_row([1, 0], hop=4.0) == pytest.approx(2 / 0.8 + 4.0 + 3 / 0.7)
    assert in_a_row([0, 0]) == pytest.approx(2 / 0.5 + 3 / 0.5)


def test_waiting_grows_no_further_on_a_node_that_is_as_good_as_full():
    assert in_a_row([0, 0], cpu=(48.0, 48.0)) == pytest.approx(2 * 4.8 / 0.05)
    assert in_a_row([0, 0], cpu=(47.0, 47.0)) == pytest.approx(2 * 4.7 / 0.06)


@pytest.mark.parametrize("slow", ["a", "b"])
def test_latency_is_that_of_the_longest_path(slow):
    middle = [component(name, 1, 30.0 * (name == slow)) for name in "ab"]
    parts = component("s", 1, 0.0, kind=Kind.SPOUT, rate=100.0), *middle, component("d", 1, 10.0)
    streams = tuple(Stream(source=x, target=y) for x, y in ("sa", "sb", "ad", "bd"))
    for order in (streams, streams[::-1]):
        layout = Layout.of(request([node("n", 400.0)], [topology("t", *parts, streams=order)]))
        here = np.zeros(4, dtype=np.int64)
        found = Model(layout).steady(here, here, np.ones(1)).latency[0]
        assert found == pytest.approx(3 / 0.7 + 0.5 / 0.9)  # the last bolt takes 200 tuples/s


def test_local_or_shuffle_stays_in_the_worker_where_it_can():
    parts = component("s", 2, 1.0, kind=Kind.SPOUT, rate=100.0), component("b", 2, 1.0)
    stream = Stream(source="s", target="b", grouping="local-or-shuffle")
    graph = Layout.of(request([node("a")], [topology("t", *parts, streams=(stream,))])).topologies[0]
    workers = np.array([0, 1, 0, 2])  # the bolts come first: b0 beside s0... by id: b0, b1, s0, s1
    senders, receivers, rates, _ = pairs(graph, flow_through(graph, workers), workers)
    found = dict(zip(zip(senders.tolist(), receivers.tolist(), strict=True), rates.tolist(), strict=True))
    assert found == {(2, 0): 50.0, (3, 0): 25.0, (3, 1): 25.0}


def spread(stream, node_of, worker):
    """The share of a spout and a bolt of two tasks each, in this order: bolts b0, b1, spouts s0, s1."""
    parts = component("s", 2, 1.0, kind=Kind.SPOUT, rate=100.0), component("b", 2, 1.0)
    made = request([node("n0"), node("n1")], [topology("t", *parts, streams=(stream,))])
    (share,) = Model(Layout.of(made)).steady(np.array(node_of), np.array(worker), np.ones(1)).shares
    return share.traffic, share.inter_node


def test_between_nodes_goes_what_finds_no_task_in_its_worker_and_is_spread():
    stream = Stream(source="s", target="b", grouping="local-or-shuffle")
    # s0 finds b0 in its worker; s1 sends half of its 50 to b1 beside it, half to b0 on the other node
    assert spread(stream, [0, 1, 0, 1], [0, 2, 0, 1]) == (100.0, 25.0)
    assert spread(attrs.evolve(stream, grouping="shuffle"), [0, 1, 0, 1], [0, 2, 0, 1]) == (100.0, 50.0)


def test_global_grouping_sends_all_to_the_first_task():
    stream = Stream(source="s", target="b", grouping="global")
    assert spread(stream, [0, 1, 1, 1], [0, 1, 2, 3]) == (100.0, 100.0)
    assert spread(stream, [1, 0, 1, 0], [1, 0, 2, 3]) == (100.0, 50.0)


@pytest.mark.parametrize(("grouping", "traffic", "inter"), [
    ("global", 15.0, 15.0),  # the first task keeps its own half
    ("shuffle", 15.0, 15.0),  # of 30 tuples/s half goes back to the task that sent it
    ("all", 30.0, 30.0),  # each task has a copy of what the other sends
    ("local-or-shuffle", 0.0, 0.0),  # each is alone in its worker
])  # fmt: skip
def test_what_a_task_sends_to_itself_goes_nowhere(grouping, traffic, inter):
    stream = Stream(source="b", target="b", grouping=grouping, rate=30.0)
    assert spread(stream, [0, 1, 0, 0], [0, 1, 0, 0]) == (traffic, inter)


def test_two_tasks_of_a_worker_exchange_half_of_what_stays_in_it():
    stream = Stream(source="b", target="b", grouping="local-or-shuffle", rate=30.0)
    assert spread(stream, [0, 0, 1, 1], [0, 0, 1, 1]) == (15.0, 0.0)


def test_a_measured_topology_runs_at_its_measured_rates():
    made = attrs.evolve(
        word_count(), metrics=Metrics(flows=(Flow(source="words/spout/0", target="words/split/0", tuples=40.0),))
    )
    model, *_ = placed(made, 0)
    apart = np.array([0, 0, 1, 1, 0])
    steady = model.steady(apart, apart, np.ones(1))
    assert (steady.throughput[0], steady.shares[0].traffic, steady.inter_node) == (40.0, 40.0, 1.0)
    assert steady.latency[0] > model.timing.hop


def test_topologies_that_share_a_full_node_get_equal_factors():
    steep = np.array([[50.0, 0.0], [100.0, 20.0], [0.0, 10.0]])
    factor, limit = fill(steep, np.array([100.0, 100.0]), np.array([1.0, 1.0, 20.0]))
    assert factor.tolist() == pytest.approx([2 / 3, 2 / 3, (100 - 20 * 2 / 3) / 10])
    assert limit.tolist() == pytest.approx(factor.tolist())


@given(
    st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3), min_size=1, max_size=5),
    st.lists(st.integers(-5, 60), min_size=3, max_size=3),
    st.lists(st.integers(0, 5), min_size=5, max_size=5),
)
def test_shares_are_max_min_fair(steep, free, demand):
    steep, free = np.array(steep, dtype=float), np.array(free, dtype=float)
    demand = np.array(demand[: len(steep)], dtype=float)
    factor, limit = fill(steep, free, demand)
    used = factor @ steep
    assert (factor <= demand + 1e-9).all()
    assert (limit >= factor - 1e-9).all()
    assert (used <= np.maximum(free, 0) + 1e-6).all()
    full = used >= free - 1e-6
    for poor in np.flatnonzero(factor < demand - 1e-9):
        rivals = [factor[(steep[:, each] > 0)].max() for each in np.flatnonzero(full & (steep[poor] > 0))]
        assert any(factor[poor] >= most - 1e-6 for most in rivals), (
            "who gets less shares a full node with no richer one"
        )


def test_a_request_that_contradicts_itself_is_an_error_with_a_pointer():
    streams = (Stream(source="a", target="b"), Stream(source="b", target="a"))
    made = request([node("n")], [topology("t", component("a"), component("b"), streams=streams)])
    with pytest.raises(DocumentError, match="/topologies/0/streams"):
        Layout.of(made)


def test_an_empty_cluster_and_no_topology_are_in_balance():
    for made in (request([], [topology("t", component("a"))]), request([node("n")], [])):
        problem = Problem.of(made)
        nowhere = np.full(problem.n, -1)
        steady = Model(Layout.of(made)).steady(nowhere, nowhere, np.ones(len(made.topologies)))
        assert steady.throughput.sum() == 0


def connected(rate, *, size=None, tasks=(1, 1), bandwidths=(1000.0, 1000.0)):
    """A spout and a bolt, and nodes with networks of so many bytes/s."""
    made = chain((1.0, 1.0), tasks, rate)
    streams = tuple(attrs.evolve(each, tuple_bytes=size) for each in made.streams)
    nodes = [node(name, bandwidth=each) for name, each in zip("abc", bandwidths, strict=False)]
    return request(nodes, [attrs.evolve(made, streams=streams)])


def factor(made, node_of, demand=np.inf):
    model = Model(Layout.of(made))
    return model.steady(np.array(node_of), np.array(node_of), np.array([demand])).factor[0]


@pytest.mark.parametrize(("size", "most"), [(20.0, 0.5), (None, 0.1)])
def test_a_full_network_bounds_what_goes_between_nodes_by_the_bytes_of_its_tuples(size, most):
    made = connected(100.0, size=size)
    assert factor(made, [0, 1]) == pytest.approx(most)
    assert factor(made, [0, 1], 0.05) == pytest.approx(0.05)
    assert factor(made, [0, 0], 3.0) == pytest.approx(3.0), "what stays on a node takes nothing of its network"


@pytest.mark.parametrize("bandwidths", [(1000.0, 500.0), (500.0, 1000.0), (500.0, None), (None, 500.0)])
def test_either_end_of_a_stream_may_be_the_slower_network(bandwidths):
    assert factor(connected(100.0, size=20.0, bandwidths=bandwidths), [0, 1]) == pytest.approx(0.25)


def test_what_comes_from_several_nodes_shares_the_network_of_the_one():
    made = connected(100.0, size=20.0, tasks=(2, 1), bandwidths=(1000.0, 1000.0, 1000.0))
    assert factor(made, [1, 2, 0]) == pytest.approx(0.5)
    both = connected(100.0, size=20.0, tasks=(1, 2), bandwidths=(1000.0, 1000.0, 1000.0))
    assert factor(both, [0, 1, 2]) == pytest.approx(0.5)
    assert factor(both, [0, 0, 1]) == pytest.approx(1.0), "half of the tuples stay"


def test_topologies_that_share_a_full_network_get_equal_factors():
    one = connected(100.0, size=20.0)
    other = attrs.evolve(one.topologies[0], id="u")
    made = attrs.evolve(one, topologies=(*one.topologies, other))
    model, node_of = Model(Layout.of(made)), np.array([0, 1, 0, 1])
    assert model.steady(node_of, node_of, np.ones(2)).factor == pytest.approx([0.25, 0.25])
    assert model.steady(node_of, node_of, np.array([0.1, 1.0])).factor == pytest.approx([0.1, 0.4])


def test_measured_flows_take_the_bytes_that_were_measured():
    flow = Flow(source="t/c0/0", target="t/c1/0", tuples=100.0, bytes=4000.0)
    made = attrs.evolve(connected(100.0), metrics=Metrics(flows=(flow,)))
    assert factor(made, [0, 1]) == pytest.approx(0.25)

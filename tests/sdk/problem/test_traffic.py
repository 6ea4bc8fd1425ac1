from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headworks.model import Flow, Metrics, Stream, StreamSample
from headworks.problem import Problem
from headworks.problem.arrays.traffic import EXACT_BITS, build
from small_requests import component, node, request, topology

NODES = 3


@st.composite
def instances(draw):
    """Blocks that overlap, flows of a pair twice and of a task to itself, tasks that are nowhere."""
    n = draw(st.integers(1, 9))
    ends = st.tuples(st.integers(0, n), st.integers(0, n)).map(lambda pair: tuple(sorted(pair)))
    rate = st.one_of(st.integers(0, 1000).map(float), st.floats(1e-3, 1e6))
    uniform = draw(st.lists(st.tuples(ends, ends, rate), max_size=4))
    flows = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1), rate), max_size=12))
    node_of = draw(st.lists(st.integers(-1, NODES - 1), min_size=n, max_size=n))
    return n, uniform, flows, np.array(node_of, dtype=np.int64)


def pairs(traffic):
    """Units from each task to each other one, the slow and plain way."""
    table = np.zeros((traffic.n, traffic.n), dtype=object)
    blocks, sparse = traffic.blocks, traffic.sparse
    for a0, a1, b0, b1, rate in zip(
        blocks.source_start, blocks.source_stop, blocks.target_start, blocks.target_stop, blocks.rate, strict=True
    ):
        for source in range(a0, a1):
            for target in range(b0, b1):
                table[source, target] += int(rate) * (source != target)
    for source in range(traffic.n):
        for entry in range(sparse.indptr[source], sparse.indptr[source + 1]):
            table[source, sparse.indices[entry]] += int(sparse.rate[entry])
    return table


@given(instances())
def test_sums_equal_those_over_every_pair(instance):
    n, uniform, flows, node_of = instance
    traffic = build(n, uniform, flows)
    table, inter, between = pairs(traffic), 0, np.zeros((NODES, NODES), dtype=object)
    for source in range(n):
        for target in range(n):
            a, b = node_of[source], node_of[target]
            inter += table[source, target] * (a != b or a < 0)
            if a >= 0 and b >= 0:
                between[a, b] += table[source, target]
    assert traffic.total == table.sum()
    assert traffic.inter_node(node_of) == inter
    assert (traffic.between(node_of, NODES) * traffic.scale == between).all()


@given(instances())
def test_what_a_task_sends_to_other_nodes_is_the_sum_over_their_tasks(instance):
    n, uniform, flows, node_of = instance
    traffic = build(n, uniform, flows)
    table = pairs(traffic)
    apart = (node_of[:, None] != node_of[None, :]) & (node_of[:, None] >= 0) & (node_of[None, :] >= 0)
    assert traffic.sent(node_of).tolist() == (table * apart).sum(axis=1).tolist()


@given(instances())
def test_what_a_task_exchanges_with_each_node_is_the_sum_over_the_others(instance):
    n, uniform, flows, node_of = instance
    traffic = build(n, uniform, flows)
    table = pairs(traffic)
    for task in range(n):
        asked = [
            sum(table[task, each] + table[each, task] for each in range(n) if each != task and node_of[each] == node)
            for node in range(NODES)
        ]
        assert traffic.of_task(task, node_of, NODES).tolist() == asked


@given(instances())
def test_units_are_the_rates_within_half_a_unit_a_pair(instance):
    n, uniform, flows, _ = instance
    traffic = build(n, uniform, flows)
    asked = math.fsum(rate * (a != b) for a, b, rate in flows)
    asked += math.fsum(
        rate * (a != b) for (a0, a1), (b0, b1), rate in uniform for a in range(a0, a1) for b in range(b0, b1)
    )
    entries = len(flows) + sum((a1 - a0) * (b1 - b0) for (a0, a1), (b0, b1), _ in uniform)
    assert abs(traffic.total / traffic.scale - asked) <= (entries + 1) / traffic.scale + 1e-9 * asked
    assert traffic.total < 2 ** (EXACT_BITS + 1)
    assert math.log2(traffic.scale) == int(math.log2(traffic.scale))


@given(instances())
def test_the_symmetric_part_holds_what_two_tasks_exchange(instance):
    n, _, flows, _ = instance
    traffic = build(n, [], flows)
    table, both = pairs(traffic), np.zeros((n, n), dtype=object)
    for task in range(n):
        for entry in range(traffic.symmetric.indptr[task], traffic.symmetric.indptr[task + 1]):
            both[task, traffic.symmetric.indices[entry]] = int(traffic.symmetric.rate[entry])
    assert (both == table + table.T).all()


@pytest.mark.parametrize("rate", [5e-324, 1e-300, 1e15])
def test_the_least_and_the_largest_rates_can_be_scaled(rate):
    traffic = build(2, [], [(0, 1, rate)])
    assert math.isfinite(traffic.scale)
    assert traffic.total / traffic.scale == pytest.approx(rate, abs=1e-290)


def traffic_of(grouping, metrics=None, **stream):
    parts = component("a", 2, kind="spout", rate=60.0), component("b", 3)
    made = topology("t", *parts, streams=(Stream(source="a", target="b", grouping=grouping, **stream),))
    return Problem.of(request([node("n")], [made], metrics=metrics or Metrics())).traffic


@pytest.mark.parametrize(
    ("grouping", "to_each"),
    [
        ("shuffle", (20, 20, 20)),
        ("fields", (20, 20, 20)),
        ("local-or-shuffle", (20, 20, 20)),
        ("all", (60, 60, 60)),
        ("global", (60, 0, 0)),
    ],
)
def test_groupings_say_what_each_receiver_gets(grouping, to_each):
    traffic = traffic_of(grouping)
    found = [
        traffic.inter_node(np.array([0, 0, *(1 if task == each else 0 for each in range(3))])) for task in range(3)
    ]
    assert [units / traffic.scale for units in found] == pytest.approx(list(to_each))


def test_what_stays_in_its_worker_is_nothing_between_nodes_that_have_their_share_of_both_ends():
    parts = component("lines", 4, kind="spout", rate=80.0), component("split", 8)
    stream = Stream(source="lines", target="split", grouping="local-or-shuffle")
    traffic = Problem.of(request([node("n")], [topology("t", *parts, streams=(stream,))])).traffic
    assert traffic.of_tasks[:, :4].tolist() == [[20 * traffic.scale] * 4, [0] * 4]
    assert traffic.of_tasks[:, 4:].tolist() == [[0] * 8, [10 * traffic.scale] * 8]
    assert traffic.inter_node(np.array([0, 0, 1, 2, 0, 0, 0, 0, 1, 1, 2, 2])) == 0
    assert traffic.inter_node(np.array([0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 2])) == 40 * traffic.scale


def test_measured_flows_replace_the_declared_streams_of_their_topology():
    flows = (Flow(source="t/a/0", target="t/b/1", tuples=7.0),)
    traffic = traffic_of("shuffle", Metrics(flows=flows))
    assert (traffic.total / traffic.scale, traffic.unit) == (7.0, "tuples/s")


def test_bytes_count_when_every_flow_has_them():
    flows = (Flow(source="t/a/0", target="t/b/1", tuples=7.0, bytes=700.0),)
    traffic = traffic_of("shuffle", Metrics(flows=flows))
    assert (traffic.total / traffic.scale, traffic.unit) == (700.0, "bytes/s")
    mixed = (*flows, Flow(source="t/a/1", target="t/b/1", tuples=1.0))
    assert traffic_of("shuffle", Metrics(flows=mixed)).unit == "tuples/s"


@pytest.mark.parametrize("sizes", [True, False])
def test_a_measured_stream_is_the_flows_of_all_its_pairs_and_adds_to_single_ones(sizes):
    """A stream of 12 a second over 2 x 3 pairs, and one flow above it."""
    parts = topology("t", component("a", 2), component("b", 3), streams=(Stream(source="a", target="b"),))
    high = Flow(source="t/a/1", target="t/b/2", tuples=5.0, bytes=50.0 if sizes else None)
    streamed = StreamSample(topology="t", source="a", target="b", tuples=12.0, bytes=120.0 if sizes else None)
    each = [
        Flow(source=f"t/a/{i}", target=f"t/b/{j}", tuples=2.0, bytes=20.0 if sizes else None)
        for i in range(2)
        for j in range(3)
    ]
    asked = [
        request([node("x"), node("y")], [parts], metrics=metrics)
        for metrics in (Metrics(flows=(high,), streams=(streamed,)), Metrics(flows=(*each, high)))
    ]
    blocks, pairwise = (Problem.of(one).traffic for one in asked)
    assert (len(blocks.blocks), len(pairwise.blocks)) == (1, 0)
    assert blocks.unit == pairwise.unit == ("bytes/s" if sizes else "tuples/s")
    assert (pairs(blocks) / blocks.scale == pairs(pairwise) / pairwise.scale).all()
    assert Problem.of(asked[0], measured=False).traffic.total == 0

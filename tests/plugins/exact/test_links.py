"""`optimal` where networks bound the load: the plan that bears more, and no bound that says nothing of that."""

from __future__ import annotations

import attrs
import pytest

from headworks.model import NOT_SEARCHED, Cluster, Limits, Resources, Stream
from headworks.plugins.host import PluginHost
from small_requests import component, node, request, topology

HOST = PluginHost.load(["dstorm", "dstorm-plus", "optimal"])


def star(bandwidth):
    """One source that sends a stream to each of eight bolts: nodes of four tasks, of which the source is one."""
    bolts = [component(f"b{index}", 1, 25.0) for index in range(8)]
    parts = (component("a", 1, 25.0, kind="spout", rate=100.0), *bolts)
    streams = tuple(Stream(source="a", target=each.id, rate=100.0, tuple_bytes=100.0) for each in bolts)
    nodes = [attrs.evolve(node(name), capacity=Resources(cpu=100.0, memory=9_999.0)) for name in "abc"]
    made = request(nodes, [topology("t", *parts, streams=streams)])
    wide = tuple(attrs.evolve(each, bandwidth=bandwidth) for each in made.cluster.nodes)
    return attrs.evolve(made, cluster=Cluster(nodes=wide), limits=Limits(deadline=20.0))


def test_the_optimum_is_proven_where_networks_bear_the_load():
    plan = HOST.schedule("optimal", star(60_000.0))
    assert plan.scores.inter_node == pytest.approx(50_000.0)
    assert plan.bound.proven


def test_no_bound_is_told_where_they_do_not():
    """The source sends to five bolts on other nodes, wherever these are: 50,000 bytes/s."""
    plan = HOST.schedule("optimal", star(40_000.0))
    assert plan.scores.factor == pytest.approx(0.8)
    assert plan.bound is None
    assert NOT_SEARCHED in [each.code for each in plan.reasons]


def test_traffic_alone_has_its_bound_whatever_networks_bear():
    plan = HOST.schedule("optimal", star(40_000.0), {"objective": "traffic"})
    assert plan.bound.proven

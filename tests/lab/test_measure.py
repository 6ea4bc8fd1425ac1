"""Experiments on real engines: sizes that fit a machine, and figures of any engine."""

from __future__ import annotations

import attrs
import pytest

from headworks.errors import EngineError
from headworks.model import Profile, Request
from headworks_lab.measure.figures import latencies, percentile, start
from headworks_lab.measure.sizing import SHARE, factor, fitted, limits
from headworks_local.isolated.limits import Rack
from small_requests import component, node, request, topology, word_count

UNEQUAL = (node("a", 400.0), node("b", 200.0), node("c", 100.0))


def asked(nodes=UNEQUAL) -> Request:
    profile = Profile(topology="words", component="count", machine_type="m", e=0.1)
    return attrs.evolve(request(nodes, word_count().topologies), profiles=(profile,))


def test_nodes_and_tasks_get_smaller_by_one_factor_and_rates_stay() -> None:
    small, by = fitted(asked(), 2), factor(asked(), 2)
    assert by == pytest.approx(SHARE * 200 / 700)
    assert sum(each.capacity.cpu for each in small.cluster.nodes) == pytest.approx(SHARE * 200)
    before, after = asked().topologies[0], small.topologies[0]
    for old, new in zip(before.components, after.components, strict=True):
        assert (new.rate, new.demand.cpu, new.demand.memory) == (old.rate, old.demand.cpu * by, old.demand.memory)
    assert small.profiles[0].e == pytest.approx(0.1 * by)
    assert fitted(asked(), 64) == asked()


def test_nodes_have_the_bounds_of_the_request() -> None:
    small = fitted(asked(), 2)
    assert [each.cores for each in limits(small)] == [each.capacity.cpu / 100 for each in small.cluster.nodes]
    assert [each.rate for each in limits(small)] == [None] * 3
    fast = fitted(asked([attrs.evolve(each, bandwidth=1e6) for each in UNEQUAL]), 2)
    assert [(each.cores, each.rate) for each in limits(fast, cores=False)] == [(None, 8e6)] * 3
    assert [each.rack for each in limits(small)] == [None] * 3


def test_nodes_are_in_the_racks_of_the_request_whose_links_have_no_bound() -> None:
    racks = ("near", "near", None)
    placed = asked([attrs.evolve(each, rack=rack) for each, rack in zip(UNEQUAL, racks, strict=True)])
    assert [each.rack for each in limits(fitted(placed, 2))] == [Rack("near"), Rack("near"), None]


def test_nodes_that_would_be_too_small_are_refused_with_the_numbers() -> None:
    many = request([node(str(each)) for each in range(60)], [topology("t", component("c", 1))])
    with pytest.raises(EngineError, match=r"would have 2\.5 points, as 60 nodes share 2 cores, and needs 5"):
        fitted(many, 2)
    with pytest.raises(EngineError, match="needs a request with nodes"):
        fitted(Request(), 2)


def test_a_start_ends_with_the_first_second_in_which_nearly_all_of_the_load_is_completed() -> None:
    assert start([0.0, 94.0, 96.0, 90.0], 100.0) == {"start": 3.0}
    assert start([0.0, 94.0], 100.0) == start([], 100.0) == {}


def test_percentiles_are_of_all_tuples() -> None:
    assert percentile({}, 50) is None
    assert latencies({}) == {}
    delays = {1: 50, 10: 45, 100: 4, 1000: 1}
    assert [percentile(delays, each) for each in (50, 95, 99, 100)] == [1.0, 10.0, 100.0, 1000.0]
    assert latencies(delays) == {"latency_p50": 1.0, "latency_p95": 10.0, "latency_p99": 100.0}

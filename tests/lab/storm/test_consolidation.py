"""D-Storm's evaluation at half its size, as it is planned and counted: nodes, load, traffic, cost, latency."""

from __future__ import annotations

import attrs
import pytest

from headworks.api import workload
from headworks.model import Cluster, FrozenMap, Node, Observation, Request, Resources, Slot
from headworks.plugins.host import PluginHost
from headworks_lab.evidence import named
from headworks_lab.storm.consolidation.claims import cost_left, latency, measured_claims, saved
from headworks_lab.storm.consolidation.run import (
    APPLICATIONS,
    HIGH,
    LOW,
    SHAPES,
    Latency,
    Packed,
    declared,
    nodes,
    packed,
    topology,
)
from headworks_storm.demo.experiment import Measured


def test_half_of_the_nodes_of_each_type_have_half_of_the_load():
    kinds = [each.machine_type for each in nodes()]
    assert sorted(kinds) == ["large", "large", "medium", "medium", "small", "small"]
    for shape in SHAPES:
        for end in (HIGH, LOW):
            (whole,) = workload(f"dstorm:{shape}{end}").topologies
            assert declared(topology(shape, end)) == pytest.approx(declared(whole) / 2)
            assert topology(shape, end).workers == 6


def test_an_application_declares_as_much_as_the_shapes_and_a_quarter_when_the_input_falls():
    for name in APPLICATIONS:
        high, low = (topology(name, end) for end in (HIGH, LOW))
        assert (declared(high), declared(low)) == (pytest.approx(900), pytest.approx(225))
        assert sum(each.rate or 0 for each in low.components) == pytest.approx(
            sum(each.rate or 0 for each in high.components) / 4
        )


@pytest.mark.parametrize("shape", [*SHAPES, *APPLICATIONS])
def test_half_of_the_nodes_have_room_for_it_and_fewer_when_the_input_falls(shape):
    host, used = PluginHost.load(["dstorm"]), []
    for end in (HIGH, LOW):
        plan = host.schedule("dstorm", Request(cluster=Cluster(nodes=nodes()), topologies=(topology(shape, end),)))
        assert plan.status == "ok"
        used.append(plan.scores.cost)
    assert used[1] < used[0]


def test_cost_is_of_the_nodes_with_a_task_and_shares_are_of_each_window():
    kinds = {"a": "large", "b": "small", "c": None}
    three = tuple(Node(id=name, capacity=Resources(cpu=100), machine_type=kind) for name, kind in kinds.items())
    at = {"t/x/0": Slot("a", 1), "t/x/1": Slot("b", 1), "t/y/0": Slot("b", 1)}
    seen = Observation(cluster=Cluster(nodes=three), assignment=FrozenMap(at))
    one = Measured(seen=seen, tuples=200.0, tuples_between=50.0, bytes=0.0, bytes_between=0.0)
    windows = [one, attrs.evolve(one, tuples_between=100.0), attrs.evolve(one, tuples=0.0)]
    found = packed(windows, {"large": 4.0, "small": 1.0, None: 100.0})
    assert (found.cost, found.shares) == (5.0, (0.25, 0.5, 0.0))


def found():
    """Both rates by both schedulers, of one shape whose figures are known."""
    one = Packed(shape="star", falls=False, scheduler="storm", shares=(0.8, 0.8, 0.8), cost=9.0)
    high = attrs.evolve(one, scheduler="dstorm", shares=(0.4, 0.4, 0.4), cost=8.0)
    low = attrs.evolve(one, falls=True)
    return one, high, low, attrs.evolve(high, falls=True, shares=(0.2, 0.4, 0.6), cost=2.0)


def test_traffic_is_saved_at_the_default_rate_and_cost_is_left_when_the_input_falls():
    assert saved("star", found).median == pytest.approx(50.0)
    assert (saved("star", found).low or 0) < 25 < 75 < (saved("star", found).high or 0)
    assert cost_left("star", found) == 25.0


def test_latency_is_compared_repetition_by_repetition():
    runs = [Latency(application=name, storm=(10.0, 20.0, 40.0), dstorm=(5.0, 15.0, 36.0)) for name in APPLICATIONS]
    assert latency("url-converter", lambda: runs).median == pytest.approx(75.0)


def test_the_paper_s_plugin_has_them():
    claims = measured_claims()
    of_shapes = {f"{kind}-live-{shape}" for kind in ("saved", "cost") for shape in SHAPES}
    of_applications = {f"{kind}-live-{name}" for kind in ("latency", "cost") for name in APPLICATIONS}
    assert {each.id for each in claims} == of_shapes | of_applications
    assert {each.id for each in named.measured_claims("dstorm")} == {each.id for each in claims}

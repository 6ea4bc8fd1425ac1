from __future__ import annotations

import json

import pytest

from headworks.model import Component, Kind, Profile, Resources, Stream, Topology
from headworks.plugins.host import PluginHost
from headworks_storm.workload.catalogue import ROLES, workloads
from headworks_storm.workload.describe import Load, describe

TOPOLOGY = Topology(
    id="t",
    workers=2,
    worker_heap=500.0,
    components=(
        Component(id="s", kind=Kind.SPOUT, parallelism=2, rate=1000, demand=Resources(cpu=10, memory=100), heap=80),
        Component(id="b", parallelism=4, selectivity=0.5, demand=Resources(cpu=20, memory=100)),
        Component(id="c", demand=Resources(cpu=5, memory=100)),
        Component(id="d", demand=Resources(cpu=5, memory=100)),
    ),
    streams=(
        Stream(source="s", target="b", grouping="fields", tuple_bytes=50),
        Stream(source="b", target="c", fanout="split"),
        Stream(source="b", target="d", fanout="split"),
    ),
)


def parts(description):
    return {each["id"]: each for each in description["components"]}


def test_a_tuple_costs_the_declared_cpu_at_the_declared_rate():
    found = parts(describe(TOPOLOGY))
    assert found["s"]["micros"] == pytest.approx(10 / 100 / 500 * 1e6)
    assert found["b"]["micros"] == pytest.approx(20 / 100 / 250 * 1e6)
    assert found["c"]["micros"] == pytest.approx(5 / 100 / 250 * 1e6)


def test_a_profile_says_what_a_tuple_costs():
    profiles = [Profile(topology="t", component="b", machine_type=name, e=e) for name, e in (("z", 9.0), ("a", 0.04))]
    found = parts(describe(TOPOLOGY, [*profiles, Profile(topology="other", component="c", machine_type="a", e=7.0)]))
    assert found["b"]["micros"] == pytest.approx(400)
    assert found["c"]["micros"] == pytest.approx(200)


def test_load_scales_what_is_really_done_and_not_what_is_declared():
    whole, half = parts(describe(TOPOLOGY)), parts(describe(TOPOLOGY, load=Load(cpu=0.5, memory=0.25, rate=0.1)))
    assert half["b"]["micros"] == whole["b"]["micros"] / 2
    assert (whole["s"]["rate"], half["s"]["rate"]) == (500, 50)
    assert (whole["s"]["held"], half["s"]["held"]) == (0, 20)
    assert [half["s"][name] for name in ("cpu", "heap", "offheap")] == [10, 80, 20]


def test_streams_that_share_tuples_have_names_of_their_own():
    found = parts(describe(TOPOLOGY))
    assert [each["stream"] for each in found["b"]["outputs"]] == ["default-c", "default-d"]
    assert found["c"]["inputs"][0]["stream"] == "default-c"
    assert found["b"]["inputs"] == [{"source": "s", "stream": "default", "grouping": "fields", "field": "key"}]
    assert found["s"]["outputs"] == [{"stream": "default", "bytes": 50, "split": False}]


def test_storms_settings_come_from_the_topology_and_can_be_replaced():
    assert describe(TOPOLOGY)["conf"] == {"topology.workers": 2, "topology.worker.max.heap.size.mb": 500.0}
    conf = {"topology.workers": 7, "topology.worker.max.heap.size.mb": 9.0, "x": 1}
    assert describe(TOPOLOGY, conf=conf)["conf"] == conf


@pytest.mark.parametrize("workload", workloads(), ids=lambda each: each.name)
def test_every_workload_can_be_planned_described_and_sent(workload):
    request = workload.build()
    (topology,) = request.topologies
    roles = ROLES.get(workload.name, {})
    assert roles.keys() <= {component.id for component in topology.components}
    description = json.loads(json.dumps(describe(topology, roles=roles)))
    assert len(description["components"]) == len(topology.components)
    plan = PluginHost.load().schedule("dstorm", request, {})
    assert plan.status == "ok", plan.reasons


def test_the_fields_of_a_role_are_grouped_by_its_own_name():
    topology = next(each for each in workloads() if each.name == "word-count").build().topologies[0]
    count = parts(describe(topology, roles=ROLES["word-count"]))["count"]
    assert count["inputs"][0]["field"] == "word"

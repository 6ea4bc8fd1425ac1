"""Experiments on real clusters: sizes, what schedulers are told, figures; and a small sweep on nodes that are apart."""

from __future__ import annotations

import json
import os

import attrs
import pytest
from click.testing import CliRunner

from headworks.cli.main import headworks
from headworks.errors import EngineError
from headworks.model import Cluster, FrozenMap, Observation, Request, Resources, Slot, Status
from headworks.model.request import Flow, Metrics, NodeSample, TaskSample, TopologySample
from headworks.plugins.host import PluginHost
from headworks_lab.measure.figures import Witness
from headworks_lab.measure.sizing import fitted
from headworks_lab.storm.bench import StormBench
from headworks_lab.storm.deputy import Deputy, burned, known, piloted
from headworks_lab.storm.figures import figures
from headworks_lab.storm.supervisors import supervisors
from headworks_lab.storm.workload import roles_of
from headworks_local.isolated.ability import network_problem
from headworks_storm.nimbus.snapshot import read_snapshot
from headworks_storm.workload.catalogue import local_cluster, unique_visitors, url_converter, word_count
from namespaces import namespaces_of, racks_of
from storm_reports import report
from storm_rounds import component as storm_component
from storm_rounds import round_text, supervisor
from storm_rounds import topology as storm_topology


def whole(*topologies: object) -> Request:
    return Request(cluster=local_cluster(), topologies=topologies)


def test_nodes_have_the_supervisors_of_the_request() -> None:
    asked = fitted(whole(word_count()), 2)
    assert [each.cpu for each in supervisors(asked)] == [each.capacity.cpu for each in asked.cluster.nodes]
    assert [len(each.conf["supervisor.scheduler.meta"]) for each in supervisors(asked)] == [0, 0, 0]


def test_real_tasks_are_those_of_the_catalogue_alone() -> None:
    small = fitted(whole(word_count()), 2).topologies[0]
    assert roles_of(small)["count"] == "count"
    assert roles_of(url_converter()) == {}
    assert roles_of(attrs.evolve(word_count(), streams=())) == {}
    assert roles_of(attrs.evolve(word_count(), id="other")) == {}


def seen_by_nimbus() -> Request:
    """Views and visitors as Nimbus has them: with an acker, under another id, and with no rate of anything."""
    views = storm_component("views", [1, 1, 2, 2], kind="spout")
    visitors = storm_component("visitors", [3, 3], inputs=[["views", "default", "fields"]])
    acker = storm_component("__acker", [4, 4], kind="system")
    placed = {**storm_topology("unique-visitors-1-2", views, visitors, acker), "name": "unique-visitors"}
    return Request.of(read_snapshot(round_text([supervisor("s1"), supervisor("s2")], [placed])).observation())


def test_a_scheduler_is_told_the_rates_that_nimbus_does_not_know() -> None:
    told = known(seen_by_nimbus(), whole(unique_visitors())).topologies[0]
    assert {each.id: each.rate for each in told.components} == {"__acker": None, "views": 4000.0, "visitors": None}
    assert {(each.source, each.target): each.rate for each in told.streams} == {
        ("views", "visitors"): 4000.0,
        ("views", "__acker"): 4000.0,
        ("visitors", "__acker"): 4000.0,
        ("__acker", "views"): 4000.0,
    }
    other = whole(attrs.evolve(unique_visitors(), id="other"))
    assert known(seen_by_nimbus(), other) == seen_by_nimbus()


def test_a_scheduler_plans_with_what_a_pilot_used_at_the_rate_that_was_offered() -> None:
    now = seen_by_nimbus()
    (topology,) = now.topologies
    tasks = tuple(TaskSample(task=each.id, cpu=10.0) for each in topology.tasks() if each.component == "views")
    metrics = Metrics(
        window=20.0,
        tasks=tasks,
        nodes=(NodeSample(node="s1", cpu=30.0), NodeSample(node="s2", cpu=10.0)),
        topologies=(TopologySample(topology=topology.id, offered=200.0, throughput=100.0),),
    )
    at = FrozenMap({each.task: Slot("s1", 6700) for each in tasks})
    seen = Observation(cluster=now.cluster, topologies=now.topologies, assignment=at, metrics=metrics)
    told = piloted(now, seen)
    used = {each.id: each.demand.cpu for each in told.topologies[0].components}
    assert used["views"] == 20.0
    assert used["visitors"] == {each.id: each.demand.cpu for each in topology.components}["visitors"]
    assert [each.cpu for each in told.metrics.nodes] == [10.0, 10.0]
    # What was told of a pilot is what tasks use at the rate that is offered; what was declared is less.
    assert burned(told, seen) == {"burned": 1.0}
    halved = [attrs.evolve(each, demand=Resources(cpu=each.demand.cpu / 2)) for each in told.topologies[0].components]
    other = attrs.evolve(told, topologies=(attrs.evolve(told.topologies[0], components=tuple(halved)),))
    assert burned(other, seen)["burned"] > 1.5
    assert burned(Request(), seen) == {}


def test_the_deputy_asks_the_scheduler_whose_turn_it_is() -> None:
    deputy = Deputy()
    assert deputy.headworks_schedule(Request()).status is Status.OK
    deputy.host, deputy.declared = PluginHost.load(["even", "dstorm"]), whole(unique_visitors())
    plans = {}
    for deputy.scheduler in ("even", "dstorm"):
        plans[deputy.scheduler] = deputy.headworks_schedule(seen_by_nimbus())
    nodes = {name: {slot.node for slot in plan.assignment.values()} for name, plan in plans.items()}
    assert (len(nodes["even"]), len(nodes["dstorm"])) == (2, 1)
    deputy.require_obeyed(Observation(assignment=plans["dstorm"].assignment))
    with pytest.raises(
        EngineError, match=r"tasks run where Storm's own scheduler put them, as dstorm answered too late"
    ):
        deputy.require_obeyed(Observation(assignment=plans["even"].assignment))


def test_figures_are_of_the_window_and_of_outside_witnesses() -> None:
    at = {"wc/lines/0": Slot("s1", 1), "wc/count/0": Slot("s1", 1), "wc/count/1": Slot("s2", 1)}
    metrics = Metrics(
        flows=(
            Flow(source="wc/lines/0", target="wc/count/0", tuples=30.0),
            Flow(source="wc/lines/0", target="wc/count/1", tuples=10.0),
        ),
        topologies=(TopologySample(topology="wc", offered=20.0, throughput=18.0, latency=12.0),),
    )
    reports = [
        report(1001.0, window=1000, delays=[[4, 7, 3], [4, 40, 1]], tasks=[[4, 0, 20, 20, 0, 4, 61]]),
        report(1002.0, window=1000, number=2, tasks=[[4, 0, 20, 4, 0, 0, 0]]),
        report(1003.0, window=1000, number=3, tasks=[[4, 0, 20, 0, 0, 0, 0]]),
    ]
    before = Witness(time=1000.0, bytes=5_000, pids=frozenset({1, 2}))
    after = Witness(time=1003.0, bytes=35_000, pids=frozenset({2, 3}))
    found = figures(Observation(assignment=at, metrics=metrics), reports, frozenset({4}), before, after)
    assert found == {
        "offered": 20.0,
        "throughput": 18.0,
        "latency": 12.0,
        "latency_p50": 7.0,
        "latency_p95": 40.0,
        "latency_p99": 40.0,
        "inter_node": 0.25,
        "nodes": 2.0,
        "restarts": 1.0,
        "bytes_between": 10_000.0,
        "stopped": 1.0,
        "degraded": 2.0,
    }
    shared = attrs.evolve(before, bytes=None)
    assert "bytes_between" not in figures(Observation(), [], frozenset(), shared, shared)


@pytest.mark.storm
@pytest.mark.slow
@pytest.mark.network
@pytest.mark.matrix
def test_a_sweep_on_a_real_cluster_has_both_placements_and_leaves_nothing(java, tmp_path) -> None:
    left = namespaces_of(os.getpid())
    words = ["sweep", "--engine", "storm", "-w", "storm:unique-visitors", "-s", "storm", "-s", "dstorm-plus", "--json"]
    done = CliRunner().invoke(
        headworks, [*words, "--network", "5mbit", "--seeds", "1", "--seconds", "5", "-O", str(tmp_path)]
    )
    assert done.exit_code == 0, done.output
    cells = {each["scheduler"]: each["means"] for each in json.loads(done.stdout)}
    own, plus = cells["storm"], cells["dstorm-plus"]
    assert own["apart"] == plus["apart"] == (0.0 if network_problem() else 1.0)
    assert (own["nodes"], plus["nodes"]) == (3.0, 1.0)
    assert plus["inter_node"] == 0.0 < own["inter_node"]
    for each in (own, plus):
        assert each["throughput"] > 0
        assert each["latency_p50"] <= each["latency_p95"] <= each["latency_p99"]
        assert each["completed"] == pytest.approx(each["throughput"] / each["offered"])
        assert each["warm_up"] == 15.0
    assert plus["burned"] > 0
    if own["apart"]:
        # By the interfaces' counters: what workers report crosses nodes, and what does not stays off the network.
        assert plus["bytes_between"] < 0.2 * own["bytes_between"]
    assert (tmp_path / "sweep.html").exists()
    assert namespaces_of(os.getpid()) == left


@pytest.mark.storm
@pytest.mark.slow
@pytest.mark.network
@pytest.mark.matrix
@pytest.mark.skipif(bool(network_problem()), reason="needs network namespaces")
def test_supervisors_of_an_experiment_are_in_the_racks_of_its_request(java) -> None:
    racks = zip(local_cluster().nodes, ("near", "near", "far"), strict=True)
    cluster = Cluster(nodes=tuple(attrs.evolve(each, rack=rack) for each, rack in racks))
    with StormBench() as bench:
        found = bench.run(Request(cluster=cluster, topologies=(unique_visitors(),)), "resource-aware", 0, 3.0)
        assert racks_of(os.getpid()) == {"near", "far"}
    assert found["nodes"] == 1.0
    assert racks_of(os.getpid()) == set()

"""Experiments on Spark: stages of a topology, work of their tasks, what schedulers are told, figures, and a sweep."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter

import attrs
import psutil
import pyarrow as pa
import pytest

from headworks.errors import EngineError
from headworks.model import Flow, FrozenMap, Kind, Metrics, Observation, Profile, Resources, Slot, Stream, TaskSample
from headworks_lab.measure.figures import Witness
from headworks_lab.nexmark import Nexmark
from headworks_lab.spark.asking import question
from headworks_lab.spark.bench import SparkBench, workers
from headworks_lab.spark.figures import Batches, figures
from headworks_lab.spark.layers import layers
from headworks_lab.spark.query import Burners, query_of
from headworks_lab.spark.work import burn, emit, part_of, payloads, worked
from headworks_lab.spark.workload.catalogue import BUILDERS, workloads
from headworks_lab.spark.workload.nexmark import NexmarkQuery
from headworks_lab.spark.workload.queries import queries
from headworks_local.isolated.ability import network_problem
from headworks_local.isolated.limits import NodeLimits
from headworks_spark.demo.murmur import partition
from headworks_spark.discovery import shape
from headworks_spark.events.event import JobStart, QueryProgress, StageShape
from headworks_spark.local.cluster import LocalSpark, worker_specs
from headworks_storm.workload.catalogue import unique_visitors
from namespaces import namespaces_of, racks_of
from patience import PATIENCE
from small_requests import component, node, request, topology, word_count

WORDS = word_count().topologies[0]
LAYERS = layers(WORDS, (), 2.0)


def spout(name: str, tasks: int = 1, rate: float | None = 100.0, **more):
    return component(name, tasks, kind=Kind.SPOUT, rate=rate, **more)


def test_components_are_stages_with_the_declared_cost_and_selectivity() -> None:
    lines, split, count = LAYERS
    assert [each.tasks for each in LAYERS] == [1, 2, 2]
    # 20 points at 100 rows/s are 2 ms a row; two tasks of 30 points at 100 rows/s 6 ms; two of 25 at 500 rows/s 1 ms.
    assert [each.parts[0].seconds for each in LAYERS] == pytest.approx([0.002, 0.006, 0.001])
    assert (lines.parts[0].rows, split.parts[0].rows) == (200.0, 0.0)
    (to_split,), (to_count,) = lines.parts[0].outputs, split.parts[0].outputs
    assert (to_split.rows, to_split.size, to_count.rows, to_count.size) == (1.0, 100, 5.0, 20)
    assert count.parts[0].outputs == ()


def test_a_profile_wins_over_what_is_declared() -> None:
    profiles = [
        Profile(topology=name, component="count", machine_type=machine, e=e)
        for name, machine, e in (("words", "z", 9.0), ("words", "a", 0.5), ("other", "a", 7.0))
    ]
    assert layers(WORDS, profiles, 2.0)[2].parts[0].seconds == pytest.approx(0.005)


def test_keys_lead_to_the_partitions_of_their_component() -> None:
    parts = (spout("in", 1), component("left", 2), component("right", 3), component("out", 1))
    ways = (("in", "left", "all"), ("in", "right", "global"), ("left", "out", "shuffle"), ("right", "out", "fields"))
    streams = tuple(Stream(source=one, target=two, grouping=way) for one, two, way in ways)
    first, middle, last = layers(topology("t", *parts, streams=streams), (), 1.0)
    left, right = first.parts[0].outputs
    assert ([partition(key, 5) for key in left.keys], left.every) == ([0, 1], True)
    assert ([partition(key, 5) for key in right.keys], right.every) == ([2], False)
    assert [[partition(key, 1) for key in each.outputs[0].keys] for each in middle.parts] == [[0], [0]]
    assert [part_of(middle.parts, index) for index in range(5)] == [middle.parts[0]] * 2 + [middle.parts[1]] * 3
    assert last.tasks == 1


@pytest.mark.parametrize(
    ("parts", "ways", "told"),
    [
        ([spout("in", rate=None)], [], "the spout 'in' of 't' states no rate"),
        ([spout("in"), component("alone")], [], "the bolt 'alone' of 't' receives none"),
        ([spout("in"), spout("late")], [("in", "late")], "the spout 'late' of 't' receives a stream"),
        (
            [spout("in"), component("a"), component("b")],
            [("in", "a"), ("a", "b"), ("in", "b")],
            "the stream from in to b of 't' passes over a stage",
        ),
    ],
)
def test_what_no_stages_are_is_refused(parts, ways, told) -> None:
    streams = tuple(Stream(source=one, target=two) for one, two in ways)
    with pytest.raises(EngineError, match=told):
        layers(topology("t", *parts, streams=streams), (), 1.0)


def test_every_workload_that_is_installed_has_stages(headworks_host) -> None:
    for name in headworks_host.having("headworks_workloads"):
        for asked in (each.build() for each in headworks_host.workloads(name)):
            for each in asked.topologies:
                assert sum(stage.tasks for stage in layers(each, asked.profiles, 2.0)) == len(each.tasks())


def rows(batches) -> Counter:
    return Counter(key for batch in batches for key in batch.column("key").to_pylist())


def test_spouts_emit_their_rate_however_it_divides() -> None:
    (stage, *_) = layers(topology("t", spout("in", 3, rate=1.0), component("out", 2), streams=STREAMS), (), 2.0)
    free = [attrs.evolve(each, seconds=0.0) for each in stage.parts]
    ticks = [pa.record_batch([pa.array(range(start, start + 3))], names=["value"]) for start in range(0, 30, 3)]
    found = rows(emit(free, ticks))
    # Three tasks with 2/3 of a row in each of ten batches: 6 each, and not 0.
    assert found.total() == 18
    assert max(found.values()) - min(found.values()) <= 3


HOSTS = {"h1": node("a", 250.0, bandwidth=1e6), "h2": node("b", 150.0)}
"""Nodes of a workload, by the host that each stands on."""
STREAMS = (Stream(source="in", target="out"),)


def test_bolts_emit_their_selectivity_in_turn_and_use_their_time() -> None:
    (split,) = (each.parts for each in LAYERS[1:2])
    taken = [pa.record_batch([pa.array(["k"] * count)], names=["key"]) for count in (3, 4)]
    begin = time.thread_time()
    found = rows(worked(split, 1, taken))
    assert time.thread_time() - begin >= 7 * split[0].seconds
    assert found.total() == 35
    assert max(found.values()) - min(found.values()) <= 2


def test_payloads_have_their_size_and_do_not_compress() -> None:
    found = payloads(100, 50)
    assert {len(each) for each in found.to_pylist()} == {50}
    assert len(pa.compress(found.buffers()[2], codec="lz4", asbytes=True)) >= 5000
    assert payloads(2, 0).to_pylist() == [b"", b""]


def test_time_is_of_the_processor_and_not_of_the_clock() -> None:
    begin = time.thread_time()
    burn(0.02)
    assert 0.02 <= time.thread_time() - begin < 0.1


def seen() -> Observation:
    """What Headworks finds of the words' query: three stages."""
    stages = tuple(
        StageShape(stage=number, tasks=each.tasks, parents=(number - 1,) if number else (), rdd=number)
        for number, each in enumerate(LAYERS)
    )
    found = shape(JobStart(job=0, time=0.0, stages=stages, scope="q", query="q", batch=0), "words").topology
    sample = TaskSample(task="words/stage-0/0", cpu=99.0, source="jvm+python_wall")
    flow = Flow(source="words/stage-0/0", target="words/stage-1/0", tuples=50.0, bytes=6000.0)
    return Observation(
        cluster=request([node("h1"), node("h2")], ()).cluster,
        topologies=(found,),
        assignment=FrozenMap({"words/stage-0/0": Slot("h1", 0)}),
        metrics=Metrics(tasks=(sample,), flows=(flow,)),
    )


def test_a_scheduler_is_told_what_the_workload_declares_and_the_pilot_run_measured() -> None:
    profiles = (
        *(Profile(topology="words", component=name, machine_type="m", e=e) for name, e in (("split", 0.2),)),
        Profile(topology="words", component="count", machine_type="m", e=0.1, met=3.0),
    )
    declared = attrs.evolve(word_count(), profiles=profiles, seed=7)
    asked = question(seen(), declared, {"words": Burners(LAYERS)}, HOSTS)
    load = sum(each.demand.cpu * each.parallelism for each in asked.topologies[0].components)
    assert load == sum(each.demand.cpu * each.parallelism for each in WORDS.components)
    assert [each.capacity.cpu for each in asked.cluster.nodes] == [250.0, 150.0]
    found = asked.topologies[0]
    assert [(each.id, each.rate, each.selectivity, each.demand.cpu) for each in found.components] == [
        ("stage-0", 100.0, 1.0, 20.0),
        ("stage-1", None, 5.0, 30.0),
        ("stage-2", None, 0.0, 25.0),
    ]
    assert [(each.rate, each.tuple_bytes) for each in found.streams] == [(100.0, 100.0), (500.0, 20.0)]
    assert found.sequential
    assert {each.task: (each.cpu, each.source) for each in asked.metrics.tasks} == {
        "words/stage-0/0": (20.0, "declared"),
        **{f"words/stage-1/{index}": (30.0, "declared") for index in range(2)},
        **{f"words/stage-2/{index}": (25.0, "declared") for index in range(2)},
    }
    assert asked.metrics.flows == seen().metrics.flows
    assert [(each.component, each.e, each.met) for each in asked.profiles] == [
        ("stage-1", 0.2, 0.0),
        ("stage-2", 0.1, 3.0),
    ]
    assert [each.bandwidth for each in asked.cluster.nodes] == [1e6, None]
    assert (asked.assignment, asked.limits.slowdown, asked.seed) == ({}, None, 7)


def test_of_real_work_a_scheduler_is_told_what_the_pilot_run_measured() -> None:
    real = NexmarkQuery(name="q1", nexmark=Nexmark(), rows=1.0, sources=1, partitions=1)
    told = attrs.evolve(seen(), topologies=(with_points(seen().topologies[0], 20.0),))
    asked = question(told, word_count(), {"words": real}, HOSTS)
    assert [each.demand.cpu for each in asked.topologies[0].components] == [20.0] * 3
    assert {each.task: (each.cpu, each.source) for each in asked.metrics.tasks} == {
        "words/stage-0/0": (99.0, "jvm+python_wall")
    }
    assert (asked.metrics.flows, asked.profiles) == (seen().metrics.flows, ())


def with_points(found, points):
    parts = [attrs.evolve(each, demand=Resources(cpu=points)) for each in found.components]
    return attrs.evolve(found, components=tuple(parts))


NEXMARK = {each.name: each.build().topologies[0] for each in workloads()}


def evolved(found, kind, **change):
    """A topology with all components of a kind changed."""
    return attrs.evolve(
        found,
        components=tuple(attrs.evolve(each, **change) if each.kind is kind else each for each in found.components),
    )


@pytest.mark.parametrize("name", NEXMARK)
def test_a_topology_of_the_catalogue_is_its_real_query(name) -> None:
    asked = evolved(evolved(NEXMARK[name], Kind.SPOUT, rate=500.0, parallelism=3), Kind.BOLT, parallelism=2)
    query = query_of(asked, (), 2.0)
    assert isinstance(query, NexmarkQuery)
    assert (query.name, query.nexmark.rate, query.rows, query.sources) == (name[len("nexmark-") :], 500.0, 1000.0, 3)
    assert query.partitions == (1 if name in ("nexmark-q1", "nexmark-q2") else 2)


def test_another_topology_of_the_same_name_burns_what_it_declares() -> None:
    asked = NEXMARK["nexmark-q5"]
    other = attrs.evolve(asked, streams=tuple(attrs.evolve(each, grouping="shuffle") for each in asked.streams))
    query = query_of(other, (), 2.0)
    assert isinstance(query, Burners)
    assert query.rows == 20_000.0


@pytest.mark.parametrize("kind", Kind)
def test_parts_of_a_real_query_that_differ_are_refused(kind) -> None:
    asked = NEXMARK["nexmark-q4"]
    first = next(each for each in asked.components if each.kind is kind)
    parts = tuple(attrs.evolve(each, parallelism=9) if each is first else each for each in asked.components)
    with pytest.raises(EngineError, match=f"the {kind}s of 'nexmark-q4' differ in rate or parallelism"):
        query_of(attrs.evolve(asked, components=parts), (), 2.0)


def test_a_real_query_without_a_rate_is_refused() -> None:
    with pytest.raises(EngineError, match="the spout 'auctions' of 'nexmark-q8' states no rate"):
        query_of(evolved(NEXMARK["nexmark-q8"], Kind.SPOUT, rate=None), (), 2.0)


def test_the_workloads_are_the_queries_with_a_line_each() -> None:
    assert (
        list(NEXMARK) == [f"nexmark-{name}" for name in queries(1)] == [f"nexmark-{each.__name__}" for each in BUILDERS]
    )
    assert all(each.summary.startswith(f"Nexmark query {each.name[len('nexmark-q') :]}, ") for each in workloads())


def test_workers_have_the_cores_of_the_nodes_and_one_at_least() -> None:
    nodes = [node("b", 250.0, machine_type="i5"), node("a", 400.0), node("c", 20.0)]
    found = [(each.cores, each.machine_type) for each in workers(request(nodes, ()))]
    assert found == [(4, None), (2, "i5"), (1, None)]


def batch(number: int, begin: float, seconds: float) -> QueryProgress:
    name = {"query": "q", "run": "r", "name": "words"}
    return QueryProgress(**name, batch=number, begin=begin, rows=1, done=1.0, seconds=seconds, add=seconds)


def test_figures_are_of_the_batches_of_the_window() -> None:
    # One that began before the window, three of 2 s as their trigger asks, and one that took 6 s.
    begins = (999.0, 1001.0, 1003.0, 1005.0, 1011.0)
    done = [
        batch(number, begin, seconds)
        for number, (begin, seconds) in enumerate(zip(begins, (1, 1, 1, 6, 1), strict=True))
    ]
    own = Batches(offered=100.0, rows=200.0, done=done)
    assert own.throughput == pytest.approx(200 * 4 / 12)
    before, after = (
        Witness(time=1000.0, bytes=0, pids=frozenset({1})),
        Witness(time=1020.0, bytes=400, pids=frozenset()),
    )
    found = figures(Observation(), [own], before, after)
    assert found["latency_p50"] == 1000.0
    assert found["latency_p95"] == found["latency_p99"] == 6000.0
    assert found["latency"] == pytest.approx(2000.0)
    assert (found["offered"], found["bytes_between"], found["restarts"]) == (100.0, 20.0, 1.0)
    # In the 6 s of the long one a third of the load is done; what comes after the last batch is not known.
    assert (found["degraded"], found["stopped"]) == (6.0, 0.0)
    assert Batches(offered=1.0, rows=2.0, done=()).throughput == 0.0


@pytest.mark.matrix
@pytest.mark.spark
@pytest.mark.slow
def test_a_sweep_on_a_real_cluster_has_both_placements_and_leaves_nothing(java, tmp_path) -> None:
    words = ["sweep", "--engine", "spark", "-w", "storm:unique-visitors", "-s", "spark", "-s", "dstorm-plus", "--json"]
    more = ["--network", "5mbit", "--seeds", "1", "--seconds", "5", "-O", str(tmp_path)]
    command = [sys.executable, "-m", "headworks", *words, *more]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as sweep:
        out, err = sweep.communicate(timeout=PATIENCE)
    assert sweep.returncode == 0, err
    cells = {each["scheduler"]: each["means"] for each in json.loads(out)}
    own, plus = cells["spark"], cells["dstorm-plus"]
    assert own["apart"] == plus["apart"] == (0.0 if network_problem() else 1.0)
    assert plus["nodes"] == 1.0 < own["nodes"]
    assert plus["inter_node"] == 0.0 < own["inter_node"]
    for each in (own, plus):
        assert 0 < each["throughput"] <= 1.5 * each["offered"] == 6000.0
        assert each["latency_p50"] <= each["latency_p95"] <= each["latency_p99"]
        assert each["restarts"] == 0.0
        assert each["completed"] == pytest.approx(each["throughput"] / each["offered"])
        assert each["warm_up"] == 15.0
    # Python workers burn what is declared, and JVMs and workers use some beside it: never less, and not as much again.
    assert 0.95 < plus["burned"] < 2
    if own["apart"]:
        # By the interfaces' counters: what batches report crosses nodes, and what does not stays off the network.
        assert plus["bytes_between"] < 0.2 * own["bytes_between"]
    assert (tmp_path / "sweep.html").exists()
    assert not namespaces_of(sweep.pid)


@pytest.mark.matrix
@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.skipif(bool(network_problem()), reason="needs network namespaces")
def test_workers_of_an_experiment_are_in_the_racks_of_its_request(java) -> None:
    apart = [attrs.evolve(node(each, 100.0), rack=rack) for each, rack in (("a", "near"), ("b", "far"))]
    with SparkBench() as bench:
        bench.run(request(apart, (unique_visitors(),)), "spark", 0, 3.0)
        assert racks_of(os.getpid()) == {"near", "far"}
    assert racks_of(os.getpid()) == set()


@pytest.mark.matrix
@pytest.mark.spark
@pytest.mark.slow
def test_a_sweep_of_real_work_has_figures_of_both_placements(java, tmp_path) -> None:
    words = ["sweep", "--engine", "spark", "-w", "spark-lab:nexmark-q5", "-s", "spark", "-s", "dstorm", "--json"]
    command = [sys.executable, "-m", "headworks", *words, "--seeds", "1", "--seconds", "5", "-O", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as sweep:
        out, err = sweep.communicate(timeout=PATIENCE)
    assert sweep.returncode == 0, err
    cells = {each["scheduler"]: each["means"] for each in json.loads(out)}
    # all of the little that it takes is on one node, by what the pilot run measured
    assert cells["dstorm"]["nodes"] == 1.0 < cells["spark"]["nodes"]
    assert cells["dstorm"]["inter_node"] == 0.0 < cells["spark"]["inter_node"]
    for each in cells.values():
        assert each["offered"] == 10_000.0
        assert 0 < each["throughput"] <= 15_000.0
        assert 0 < each["latency_p50"] <= each["latency_p99"]
    if cells["spark"]["apart"]:
        assert cells["dstorm"]["bytes_between"] < 0.5 * cells["spark"]["bytes_between"]


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.matrix
def test_what_a_killed_sweep_started_ends(java, tmp_path) -> None:
    command = [sys.executable, "-m", "headworks", "sweep", "--engine", "spark", "-w", "storm:word-count", "-s", "spark"]
    with subprocess.Popen([*command, "--seeds", "1", "--seconds", "60", "-O", str(tmp_path)]) as sweep:
        deadline, begun = time.monotonic() + PATIENCE, psutil.Process(sweep.pid)
        while sum(each.name() == "java" for each in begun.children(recursive=True)) < 5:
            assert time.monotonic() < deadline, "no driver, master and three workers"
            time.sleep(0.2)
        family = begun.children(recursive=True)
        sweep.kill()
    assert psutil.wait_procs(family, timeout=PATIENCE)[1] == []
    if problem := network_problem():
        pytest.skip(f"needs network namespaces: {problem}")
    with LocalSpark(apart=(NodeLimits(),), workers=worker_specs((1,)), timeout=PATIENCE):
        assert not namespaces_of(sweep.pid)

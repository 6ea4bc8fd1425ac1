"""Profiling: the papers' rule on points worked by hand, and a real cluster with two machine types."""

from __future__ import annotations

import json

import attrs
import pytest
from click.testing import CliRunner

from headworks.control.knowledge import read_knowledge
from headworks.documents import write
from headworks.model import Cluster, Component, Kind, Node, Request, Resources, Status, Stream, Topology
from headworks.plugins.host import PluginHost
from headworks.problem import Problem
from headworks_lab.profiling.command import profile
from headworks_lab.profiling.placer import NAME, Placer, alternating, on_machine
from headworks_lab.profiling.rule import ProfilePoint, knowledge_of, profile_at_highest
from headworks_lab.profiling.transfer import APART, NEAR, TOGETHER, TransferPoint, transfer_cost
from headworks_storm.client.summary import ExecutorSummary
from shell import gone, running
from storm_cluster import RELEASE

LIMIT = 420
"""Seconds that two machine types may take on a machine that does nothing else."""


def point(rate, used, latency=None, *, component="c", kind="m", points=100.0, emitted=0.0, **more):
    return ProfilePoint(
        component=component, machine_type=kind, level=1.0, rate=rate, emitted=emitted, used=used, latency=latency,
        points=points, **more
    )  # fmt: skip


def test_met_is_what_the_cpu_does_beside_executing():
    """0.2 ms at 400 tuples/s are 8 % of a core, 10 % are used: MET 2 %."""
    found = profile_at_highest("t", [point(400.0, 10.0, 0.2, emitted=100.0)])
    assert (found.topology, found.component, found.machine_type) == ("t", "c", "m")
    assert (found.e, found.met, found.alpha) == (pytest.approx(0.02), pytest.approx(2.0), 0.25)


def test_met_is_that_of_the_point_of_highest_use():
    """0.2 ms at 400 tuples/s and 10 %: MET is 2 %. By the other point it would be 3.5; no slope tells."""
    assert profile_at_highest("t", [point(300.0, 9.5, 0.2), point(400.0, 10.0, 0.2)]).met == pytest.approx(2.0)


def test_cpu_that_came_with_tuples_bounds_a_latency_in_which_the_task_waited():
    """From 100 to 400 tuples/s use grew by 6 %: 0.02 % a tuple, and 4 % of 12 are there at any rate."""
    found = profile_at_highest("t", [point(100.0, 6.0, 5.0), point(400.0, 12.0, 5.0), point(390.0, 11.0, 9.0)])
    assert (found.e, found.met) == (pytest.approx(0.02), pytest.approx(4.0))


def test_percent_are_of_the_whole_machine():
    """0.2 ms of a core, 100 of 400 points, are 0.05 percent-seconds of the machine."""
    assert profile_at_highest("t", [point(400.0, 4.0, 0.2, points=400.0)]).e == pytest.approx(0.005)


def test_a_latency_that_is_longer_than_the_cpu_worked_is_waiting():
    """At 400 tuples/s a latency of 2 ms would be 80 % of a core, and 10 % are used: e * rate is that, and MET is 0."""
    found = profile_at_highest("t", [point(400.0, 10.0, 2.0)])
    assert (found.e, found.met) == (pytest.approx(0.025), 0.0)


def test_a_spout_executes_nothing_and_has_no_alpha():
    found = profile_at_highest("t", [point(400.0, 10.0, spout=True, emitted=400.0)])
    assert (found.e, found.met, found.alpha) == (pytest.approx(0.025), 0.0, None)


def test_points_without_a_tuple_say_nothing():
    known = knowledge_of("t", [point(0.0, 1.0), point(0.0, 3.0, component="d"), point(10.0, 1.0, 0.1)])
    assert [(each.profile.component, each.samples) for each in known.profiles] == [("c", 1)]


def test_the_document_is_knowledge_that_hetero_plans_by(tmp_path):
    points = [point(1000.0, 50.0, spout=True, component="s", kind=kind) for kind in ("slow", "fast")] + [
        point(500.0, 100.0, 1.0, kind="slow"),
        point(2000.0, 100.0, 0.25, kind="fast"),
    ]
    write(tmp_path / "knowledge.json", knowledge_of("t", points))
    known = read_knowledge(tmp_path / "knowledge.json")
    parts = (Component(id="s", kind=Kind.SPOUT, rate=1.0), Component(id="c"))
    nodes = (Node(id=kind, capacity=Resources(cpu=100.0), machine_type=kind) for kind in ("slow", "fast"))
    request = Request(
        cluster=Cluster(nodes=tuple(nodes)),
        topologies=(Topology(id="t", components=parts, streams=(Stream(source="s", target="c"),)),),
        profiles=tuple(each.profile for each in known.profiles),
    )
    plan = PluginHost.load().schedule("hetero-plus", request)
    assert plan.status is Status.OK
    assert plan.input_rate > 1000


def stats(executed, means, windows=(b"600", b":all-time")):
    """The struct `ExecutorStats` of a bolt, with one stream for each number."""
    streams = [{1: f"c{number}".encode(), 2: b"default"} for number in range(len(executed))]
    maps = [[(window, list(zip(streams, each, strict=False))) for window in windows] for each in (executed, means)]
    return {1: [], 2: [], 3: {1: {1: [], 2: [], 3: [], 4: maps[0], 5: maps[1]}}, 4: 0.05}


@pytest.mark.parametrize(
    ("found", "latency"),
    [
        (stats([100, 300], [1.0, 2.0]), 1.75),
        (stats([0], [0.0]), None),
        (stats([5], [1.0], windows=(b"600",)), None),
        (stats([5, 7], [1.0]), 1.0),  # a stream that came between the two readings
        ({1: [], 2: [], 3: {2: {}}, 4: 0.05}, None),  # a spout
    ],
)
def test_latency_is_the_mean_of_all_streams_by_their_tuples(found, latency):
    struct = {1: {1: 1, 2: 1}, 2: b"c", 3: b"host", 4: 6700, 5: 10, 7: found}
    assert ExecutorSummary.of(struct).latency == latency
    assert ExecutorSummary.of({key: value for key, value in struct.items() if key != 7}).latency is None


def test_the_placer_leaves_what_runs_and_takes_the_type_it_is_told():
    nodes = [Node(id=kind, capacity=Resources(cpu=100.0), slots=(1,), machine_type=kind) for kind in "ab"]
    topology = Topology(id="t", components=(Component(id="c", parallelism=2, demand=Resources(cpu=50.0)),))
    request = Request(cluster=Cluster(nodes=tuple(nodes)), topologies=(topology,))
    placer = Placer(on_machine("b"))
    host = PluginHost().with_plugin(NAME, placer)
    plan = host.schedule(NAME, request)
    assert {slot.node for slot in plan.assignment.values()} == {"b"}
    placer.place = on_machine("a")
    again = host.schedule(NAME, attrs.evolve(request, assignment=plan.assignment))
    assert again.assignment == plan.assignment
    placer.place = on_machine("c")
    assert len(host.schedule(NAME, request).assignment) == 0


def way(placement, tuples, tasks, workers, between=0.0):
    return TransferPoint(placement=placement, tuples=tuples, between=between, tasks=tasks, workers=workers)


def test_the_way_of_a_tuple_costs_what_cpu_grows_by_beyond_one_worker():
    """Half of the tuples cross. From 100 to 300 tuples/s tasks take 2 points more than in one worker, the rest 4."""
    points = [
        way(TOGETHER, 100.0, 10.0, 20.0),
        way(TOGETHER, 300.0, 30.0, 42.0),
        way(APART, 100.0, 11.0, 31.0, 50.0),
        way(APART, 300.0, 33.0, 59.0, 150.0),
    ]
    found = transfer_cost(points, APART)
    assert (found.send, found.receive) == (pytest.approx(0.02), pytest.approx(0.04))
    assert transfer_cost(points, NEAR) is None


def test_rates_that_are_alike_tell_no_cost():
    points = [way(kind, tuples, 10.0, 20.0, 50.0) for kind in (TOGETHER, APART) for tuples in (100.0, 120.0)]
    assert transfer_cost(points, APART) is None


def test_noise_below_nothing_is_no_gain():
    points = [
        way(kind, tuples, tuples / 10, tuples / 5, 50.0) for kind in (TOGETHER, APART) for tuples in (100.0, 300.0)
    ]
    assert transfer_cost(points, APART).send == 0.0


def test_components_of_a_chain_alternate():
    streams = (Stream(source="a", target="b"), Stream(source="b", target="c"))
    parts = (Component(id="a", kind=Kind.SPOUT, rate=1.0), Component(id="b", parallelism=2), Component(id="c"))
    nodes = tuple(Node(id=name, capacity=Resources(), slots=(1,)) for name in "xy")
    asked = Request(cluster=Cluster(nodes=nodes), topologies=(Topology(id="t", components=parts, streams=streams),))
    assert alternating(Problem.of(asked)).tolist() == [0, 1, 1, 0]


@pytest.mark.parametrize("machine", ["fast", "fast=", "fast=0", "=100", "a=100,b=50"])
def test_machine_types_have_a_name_and_points(machine):
    done = CliRunner().invoke(profile, ["storm:word-count", "--machine", machine])
    assert done.exit_code == 2
    assert "NAME=POINTS" in done.output


def test_a_name_is_given_once():
    done = CliRunner().invoke(profile, ["storm:word-count", "--machine", "a=1", "--machine", "a=2"])
    assert done.exit_code == 2


@pytest.mark.storm
@pytest.mark.matrix
@pytest.mark.network
@pytest.mark.timeout(2 * LIMIT)
def test_a_machine_that_interprets_its_code_costs_more_for_a_tuple(java, tmp_path):
    """Two machine types that really differ: the same bolts, compiled and interpreted."""
    words = ("--machine", "fast=200", "--machine", "slow=200:-Xint", "--factor", "8", "--levels", "4", "--window", "6")
    command = ("storm", "profile", "storm:word-count", *words, "--version", RELEASE, "--json")
    with running(*command, folder=tmp_path) as (run, mark):
        out, messages = run.communicate(timeout=2 * LIMIT)
        assert run.returncode == 0, messages
        assert gone(mark) == []
    found = json.loads(out)
    known = read_knowledge(tmp_path / "knowledge.json")
    profiles = {(each.profile.component, each.profile.machine_type): each.profile for each in known.profiles}
    assert set(profiles) == {(part, kind) for part in ("lines", "split", "count") for kind in ("fast", "slow")}
    for part in ("split", "count"):
        assert profiles[part, "slow"].e > 2 * profiles[part, "fast"].e
    assert profiles["split", "fast"].alpha > 3  # words of a line
    for each in (fit.profile for fit in known.profiles):  # Eq. 5 holds at the highest point
        own = [p for p in found["points"] if (p["component"], p["machine_type"]) == (each.component, each.machine_type)]
        top = max(own, key=lambda p: (p["used"], p["rate"]))
        assert each.e * top["rate"] + each.met == pytest.approx(top["used"], rel=1e-6)
    levels = [p["level"] for p in found["points"] if p["component"] == "split" and p["machine_type"] == "fast"]
    assert levels == sorted(levels)
    assert len(levels) > 1

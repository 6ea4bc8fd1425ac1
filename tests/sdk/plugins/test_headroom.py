"""Plans with headroom: within a share of each node's CPU, and no task less for it."""

from __future__ import annotations

import itertools

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headworks
from headworks.documents import canonical, fingerprint
from headworks.errors import DocumentError
from headworks.model import (
    FILL,
    Kind,
    Limits,
    Metrics,
    NodeSample,
    Profile,
    Request,
    Resources,
    Slot,
    Status,
    Stream,
    TaskSample,
)
from headworks.model.plan import FULLER
from headworks.plugins.headroom import beside_planned, beside_tasks
from headworks.plugins.host import PluginHost
from headworks.problem import Problem
from headworks.problem.plan.score import fullest_cpu
from headworks.testing.instances.strategies import requests
from small_requests import component, node, request, topology

HOST = PluginHost.load(["dstorm", "dstorm-plus", "even", "optimal", "resource-aware", "sps"])


def wanting(fill, cpus, capacity=100.0, **more):
    """Tasks of some CPU on three nodes, in a chain whose traffic pulls them together."""
    parts = [component(f"c{index:02}", 1, cpu) for index, cpu in enumerate(cpus)]
    streams = tuple(Stream(source=one.id, target=two.id, rate=100.0) for one, two in itertools.pairwise(parts))
    nodes = [attrs.evolve(node(name), capacity=Resources(cpu=capacity, memory=9_999.0), **more) for name in "abc"]
    return attrs.evolve(request(nodes, [topology("t", *parts, streams=streams)]), limits=Limits(fill=fill))


def fuller(plan):
    return any(each.code == FULLER for each in plan.reasons)


@pytest.mark.parametrize("name", HOST.schedulers)
def test_a_node_is_filled_to_the_share_and_no_further_where_that_holds_every_task(name):
    plan = HOST.schedule(name, wanting(0.8, [20.0] * 12))
    assert plan.status is Status.OK
    assert not fuller(plan)
    assert plan.scores.fullest_node <= 0.8


@pytest.mark.parametrize("name", ["hetero", "hetero-plus", "optimal"])
def test_a_rate_by_profiles_fills_a_node_to_the_share_and_no_further(name):
    profiles = (Profile(topology="t", component="c", machine_type="", e=0.1, met=5.0),)
    parts = (component("c", kind=Kind.SPOUT, rate=1.0),)
    asked = attrs.evolve(request([node("a"), node("b")], [topology("t", *parts)]), profiles=profiles)
    plan = headworks.plan(attrs.evolve(asked, limits=Limits(fill=0.8)), name)
    assert plan.scores.fullest_node == pytest.approx(0.8, rel=1e-3)
    assert plan.input_rate == pytest.approx(1500.0, rel=1e-3)


def test_cpu_that_the_engine_used_beside_the_tasks_is_left_free():
    """Nodes used 16 points more than their tasks: of 80 points 64 are for tasks, which is three of 20."""
    asked = wanting(0.8, [20.0] * 9)
    used = tuple(NodeSample(node=name, cpu=16.0) for name in "abc")
    asked = attrs.evolve(asked, metrics=Metrics(window=10.0, nodes=used))
    assert HOST.schedule("dstorm-plus", asked).scores.fullest_node == pytest.approx(0.6)
    assert HOST.schedule("dstorm-plus", wanting(0.8, [20.0] * 9)).scores.fullest_node == pytest.approx(0.8)
    full = attrs.evolve(asked, topologies=wanting(0.8, [20.0] * 15).topologies)
    assert HOST.schedule("dstorm-plus", full).scores.unplaced == 0


def test_a_task_whose_cpu_was_not_measured_counts_as_declared():
    """Nodes used 90 points: a task used 20, one declares 30, and one was not seen."""
    asked = wanting(0.8, [10.0, 30.0, 50.0])
    seen = (TaskSample(task="t/c00/0", cpu=20.0), TaskSample(task="t/c01/0", received=1.0))
    nodes = (NodeSample(node="a", cpu=60.0), NodeSample(node="b", cpu=30.0), NodeSample(node="c"))
    asked = attrs.evolve(asked, metrics=Metrics(window=10.0, tasks=seen, nodes=nodes))
    assert beside_tasks(asked) == 20.0
    assert beside_tasks(attrs.evolve(asked, metrics=Metrics(window=10.0, tasks=seen))) == 0.0


def test_a_plan_of_fewer_workers_than_run_leaves_less_free():
    """Nine workers of one topology used 18 points each node beside tasks; a plan needs three of them."""
    asked = wanting(0.8, [20.0] * 9)
    used = tuple(NodeSample(node=name, cpu=18.0) for name in "abc")
    runs = {f"t/c{index:02}/0": Slot(node="abc"[index % 3], port=6700 + index) for index in range(9)}
    seen = tuple(TaskSample(task=each, cpu=0.0) for each in runs)
    asked = attrs.evolve(asked, metrics=Metrics(window=10.0, tasks=seen, nodes=used), assignment=runs)
    assert (beside_tasks(asked), beside_planned(asked)) == (18.0, 6.0)
    assert beside_planned(attrs.evolve(asked, assignment={})) == 18.0


def test_where_the_share_holds_too_little_the_fullest_node_is_as_low_as_it_can_be():
    """Six tasks of 45 points on three nodes of 100: two on each, and 90 % is the least."""
    plan = HOST.schedule("dstorm", wanting(0.8, [45.0] * 6))
    assert plan.label == "ok, fuller"
    assert plan.scores.fullest_node == pytest.approx(0.9)
    (reason,) = plan.reasons
    assert "within 80% of each node's CPU (limits.fill)" in reason.message


@given(asked=requests(), name=st.sampled_from(HOST.schedulers), fill=st.sampled_from((0.3, 0.8, 1.0)))
def test_no_task_is_unplaced_for_headroom(asked, name, fill):
    plain = HOST.schedule(name, attrs.evolve(asked, limits=attrs.evolve(asked.limits, fill=None)))
    plan = HOST.schedule(name, attrs.evolve(asked, limits=attrs.evolve(asked.limits, fill=fill)))
    assert plan.scores.unplaced <= plain.scores.unplaced
    assert (plan.status is Status.HELD) <= (plain.status is Status.HELD)


def test_where_networks_bound_the_load_the_plan_that_bears_more_is_taken():
    """Five tasks of 20 points in a chain: on one node they need no network, on two one that is far too slow."""
    asked = wanting(0.8, [20.0] * 5, bandwidth=1_000.0)
    plan = HOST.schedule("dstorm-plus", asked)
    assert (plan.scores.nodes_used, plan.scores.fullest_node) == (1, 1.0)
    assert fuller(plan)
    assert "bears 80%, and the one within that share 10%" in plan.reasons[0].message


def test_nothing_moves_for_what_runs_and_is_but_a_little_above_the_share():
    asked = wanting(None, [28.0] * 3)
    first = HOST.schedule("dstorm-plus", asked)
    assert first.scores.fullest_node == pytest.approx(0.84)
    runs = attrs.evolve(asked, assignment=first.assignment, limits=Limits(fill=0.8))
    assert HOST.schedule("dstorm-plus", runs).moves == ()


def test_a_plan_says_which_request_it_answers_and_is_scored_on_all_of_the_cpu():
    asked = wanting(0.8, [20.0] * 12)
    plan = HOST.schedule("dstorm", asked)
    problem = Problem.of(asked)
    assert plan.provenance.request == fingerprint(canonical(asked))
    assert plan.scores.fullest_node == fullest_cpu(problem, problem.node_of(plan.assignment))


def test_a_bound_within_the_share_is_none_on_a_fuller_plan():
    found = headworks.compare(wanting(0.8, [45.0] * 6), ["even", "optimal"], host=HOST)
    assert found.bound is None
    assert [row.gap for row in found.plans] == [None, None]


@pytest.mark.parametrize("fill", [0.0, -1.0, 1.5])
def test_a_share_that_is_none_is_refused(fill):
    with pytest.raises(DocumentError, match="limits/fill"):
        headworks.plan(wanting(fill, [20.0]), "even", host=HOST)


def test_what_runs_is_planned_with_headroom_and_a_request_by_itself_is_not():
    from headworks.control.loop import Control

    assert Control(scheduler="even", engine="sim").limits.fill == FILL
    assert Request().limits.fill is None


@pytest.mark.parametrize("name", ["dstorm-plus", "even"])
def test_batches_are_no_longer_where_the_share_has_no_room_for_what_the_engine_would_do(name):
    """At 85 % of the CPU no share of 80 % has a limit on batches."""
    parts = (
        component("read", 4, 15.0, kind=Kind.SPOUT, rate=100.0),
        component("split", 8, 30.0, selectivity=9.0),
        component("count", 8, 37.0),
    )
    streams = (Stream(source="read", target="split"), Stream(source="split", target="count"))
    nodes = [
        attrs.evolve(node(name), capacity=Resources(cpu=cpu, memory=9_999.0))
        for name, cpu in (("a", 400.0), ("b", 200.0), ("c", 100.0))
    ]
    asked = request(nodes, [attrs.evolve(topology("t", *parts, streams=streams), sequential=True)])
    asked = attrs.evolve(asked, limits=Limits(deadline=20.0, fill=0.8, slowdown=1.0))
    plan, problem = HOST.schedule(name, asked), Problem.of(asked)
    assert plan.scores.unplaced == 0
    assert not problem.slowdown.exceeded(problem.node_of(plan.assignment))
    assert fuller(plan)

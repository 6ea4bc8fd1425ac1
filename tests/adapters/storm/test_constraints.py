"""Storm's own constraints as constraints of the model, and the cases of its constraint solver's tests."""

from __future__ import annotations

import pytest

from headworks import PluginHost
from headworks.model import (
    Cluster,
    Component,
    ConstraintKind,
    Kind,
    Limits,
    Node,
    Request,
    Resources,
    Scope,
    Status,
    Stream,
    Topology,
)
from headworks.testing.reference import broken_constraints
from headworks_storm.nimbus.constraints.translate import constraints_of
from headworks_storm.nimbus.constraints.unread import unread_constraints
from patience import PATIENCE

PAIRS = [["spout", "b0"], ["b2", "spout"], ["b1", "b2"], ["b1", "b0"], ["b1", "spout"]]
PARTS = frozenset({"spout", "b0", "b1", "b2", "b3"})


def said(conf):
    return [str(each) for each in constraints_of(conf, PARTS)]


def test_both_forms_of_incompatible_components_are_read():
    by_component = {"b1": {"incompatibleComponents": ["b2", "spout"]}, "b2": {"incompatibleComponents": "b1"}}
    assert said({"topology.ras.constraints": by_component}) == [
        "b1, b2 apart on every worker",
        "b1, spout apart on every worker",
    ]
    assert len(said({"topology.ras.constraints": PAIRS})) == 5


def test_a_component_that_is_incompatible_with_itself_has_one_executor_a_worker():
    (one,) = constraints_of({"topology.ras.constraints": [["b1", "b1"]]}, PARTS)
    assert (one.kind, one.components, one.scope, one.limit) == (ConstraintKind.AT_MOST, ("b1",), Scope.WORKER, 1)


def test_limits_of_a_supervisor():
    conf = {
        "topology.ras.constraints": {"b1": {"maxNodeCoLocationCnt": "2"}, "b2": {"maxNodeCoLocationCnt": 0}},
        "topology.spread.components": ["b1", "b0"],
    }
    assert said(conf) == ["at most 1 of b0 a node", "at most 2 of b1 a node"]


def test_nodes_that_are_liked_and_not_are_soft():
    conf = {"topology.scheduler.favored.nodes": ["h1"], "topology.scheduler.unfavored.nodes": ["h1", "h2"]}
    liked, shunned = constraints_of(conf, PARTS)
    assert (liked.kind, liked.labels, liked.is_hard) == (ConstraintKind.PREFER, {"host": ("h1",)}, False)
    assert (shunned.kind, shunned.labels, shunned.is_hard) == (ConstraintKind.NEVER_ON, {"host": ("h2",)}, False)


def test_one_executor_or_component_a_worker():
    (one,) = constraints_of({"topology.ras.one.executor.per.worker": True}, PARTS)
    assert (one.kind, one.scope, one.limit) == (ConstraintKind.AT_MOST, Scope.WORKER, 1)
    (apart,) = constraints_of({"topology.ras.one.component.per.worker": True}, PARTS)
    assert (apart.kind, apart.scope) == (ConstraintKind.APART, Scope.WORKER)


@pytest.mark.parametrize(
    "value",
    [7, "b0", ["b0"], [["b0"]], [["b0", 1]], {"b0": 1}, {"b0": {"incompatibleComponents": 4}}, {"x": {}}, None],
)
def test_a_mistake_is_left_out(value):
    assert said({"topology.ras.constraints": value, "topology.spread.components": value if value == 7 else None}) == []


@pytest.mark.parametrize(
    ("conf", "told"),
    [
        ({"b0": {"incompatibleComponents": ["b1", "other"]}}, "other, no component of this topology"),
        ({"other": {"maxNodeCoLocationCnt": 1}}, "other, no component of this topology"),
        ([["b0", "b1"], ["b0", "other"]], "other, no component of this topology"),
        ([["b0"]], "topology.ras.constraints = ['b0']"),
        ({"b0": 1}, "b0 = 1"),
        ({"b0": {"maxNodeCoLocationCnt": "many"}}, "maxNodeCoLocationCnt of b0 = many"),
        ({"b0": {"maxNodeCoLocationCnt": 0}}, "maxNodeCoLocationCnt of b0 = 0"),
        ({"b0": {"incompatibleComponents": 4}}, "incompatibleComponents of b0 = 4"),
        ({"b0": {"apart": "b1"}}, "apart of b0 = b1"),
        (7, "topology.ras.constraints = 7"),
    ],
)
def test_what_is_left_out_is_said(conf, told):
    assert unread_constraints({"topology.ras.constraints": conf}, PARTS) == f"left out of its constraints: {told}"


def test_spread_components_of_another_topology_are_said_and_the_rest_counts():
    conf = {"topology.spread.components": ["b0", "theirs"]}
    assert said(conf) == ["at most 1 of b0 a node"]
    assert unread_constraints(conf, PARTS) == "left out of its constraints: theirs, no component of this topology"
    assert unread_constraints({"topology.spread.components": "b0"}, PARTS).endswith("topology.spread.components = b0")


def test_of_many_mistakes_the_first_are_said_and_the_others_counted():
    told = unread_constraints({"topology.spread.components": ["x" * 50, "y", "z", "v", "w"]}, PARTS)
    assert told.endswith("and 2 more")
    assert "x" * 40 + "..., no component" in told


@pytest.mark.parametrize("conf", [{}, {"topology.ras.constraints": PAIRS, "topology.spread.components": ["b0"]}])
def test_constraints_without_a_mistake_are_no_news(conf):
    assert unread_constraints(conf, PARTS) == ""


def solver_case(bolts, limit):
    """The topology and cluster of TestConstraintSolverStrategy: 4 supervisors with 2 slots, 4 spouts, 4 bolts."""
    conf = {"topology.ras.constraints": PAIRS, "topology.spread.components": ["spout"]}
    if limit > 1:
        conf["topology.ras.constraints"] = {
            "spout": {"maxNodeCoLocationCnt": limit, "incompatibleComponents": ["b0", "b1", "b2"]},
            "b1": {"incompatibleComponents": ["b0", "b2"]},
        }
    need = Resources(cpu=10.0, memory=100.0)
    spout = Component(id="spout", kind=Kind.SPOUT, parallelism=4, demand=need, rate=1.0)
    parts = (spout, *(Component(id=f"b{number}", parallelism=bolts, demand=need) for number in range(4)))
    topology = Topology(
        id="t",
        components=parts,
        streams=tuple(Stream(source="spout", target=f"b{number}") for number in range(4)),
        constraints=constraints_of(conf, PARTS),
    )
    nodes = tuple(
        Node(id=f"s{number}", capacity=Resources(cpu=120.0, memory=1200.0), slots=(0, 1)) for number in range(4)
    )
    return Request(cluster=Cluster(nodes=nodes), topologies=(topology,), limits=Limits(deadline=PATIENCE))


@pytest.mark.parametrize("scheduler", ["resource-aware", "dstorm", "dstorm-plus", "even", "otd", "hetero"])
@pytest.mark.parametrize(("bolts", "limit"), [(3, 1), (3, 2), (11, 1), (11, 2)])
def test_cases_of_storms_constraint_solver(scheduler, bolts, limit):
    request = solver_case(bolts, limit)
    plan = PluginHost.load().schedule(scheduler, request)
    assert plan.status is Status.OK, plan.reasons
    assert broken_constraints(request, plan.assignment) == ()

"""Bounds by topology and constraints in the search, beside all placements of small random requests."""

from __future__ import annotations

import itertools
import random

import attrs
import numpy as np
import pytest

from headworks.model import (
    Constraint,
    ConstraintKind,
    Flow,
    FrozenMap,
    Kind,
    Limits,
    Metrics,
    Resources,
    Scope,
    Status,
    Stream,
    TaskSample,
)
from headworks.plugins.host import PluginHost
from headworks.problem import Problem
from headworks.testing.instances.build import SMALL, SeededDice, build_request, constrained
from headworks_exact import by_topology
from headworks_exact.by_topology import bound_by_topology
from headworks_exact.node_rules import NodeRules
from headworks_exact.parts import parts_of
from headworks_exact.solver import Budget
from small_requests import component, node, request, topology

HOST = PluginHost.load(("optimal", "dstorm-plus", "dstorm"))
REQUESTS = 80
"""Of each test: some hundred placements of each are tried."""


def small(seed, *, fresh=True):
    """At most seven tasks on nodes that they nearly fill, with constraints; else some run and flows are measured."""
    dice = SeededDice(random.Random(f"by topology {seed}"))
    made = constrained(dice, build_request(dice, SMALL, fresh=fresh))
    while not 4 <= Problem.of(made).n <= 7 or len(made.cluster.nodes) < 2:
        made = constrained(dice, build_request(dice, SMALL, fresh=fresh))
    shapes = tuple(attrs.evolve(each, components=tuple(map(sending, each.components))) for each in made.topologies)
    made = attrs.evolve(made, topologies=shapes, limits=Limits(deadline=60.0))
    need = Problem.of(made).demand[:, 0]
    cpu = max(float(need.sum()) / len(made.cluster.nodes) / dice.pick((0.6, 0.75, 0.9)), float(need.max()))
    nodes = tuple(attrs.evolve(each, capacity=Resources(cpu=cpu, memory=4096.0)) for each in made.cluster.nodes)
    return attrs.evolve(made, cluster=attrs.evolve(made.cluster, nodes=nodes))


def sending(part):
    demand = Resources(cpu=max(part.demand["cpu"], 10.0), memory=part.demand["memory"])
    return attrs.evolve(part, rate=part.rate or 100.0 if part.kind is Kind.SPOUT else None, demand=demand)


def least(problem):
    """Units between nodes of the best placement that a plan carries out as it is, None if there is none."""
    every = np.array(list(itertools.product(range(problem.m), repeat=problem.n)), dtype=np.int64)
    every = every[((problem.fixed < 0) | (every == problem.fixed)).all(axis=1)]
    traffic = [problem.traffic.inter_node(each) for each in every]
    for at in np.argsort(traffic, kind="stable").tolist():
        if (problem.used(every[at]) > problem.capacity).any():
            continue
        if problem.plan(every[at], repair=False).status is Status.OK:
            return traffic[at]
    return None


def bound(problem, known):
    return bound_by_topology(problem, [], known, Budget(work=2.0, clock=600.0))


@pytest.mark.parametrize("limits", [{}, {"WAYS": 3, "FEWEST": 3}, {"BUCKETS": 3}], ids=["as it is", "lots", "steps"])
def test_no_placement_beats_the_bound(limits, monkeypatch):
    for name, value in limits.items():
        monkeypatch.setattr(by_topology, name, value)
    reached = found = 0
    for seed in range(REQUESTS):
        problem = Problem.of(small(seed))
        best = least(problem)
        if best is None:
            continue
        found, told = found + bool(best), bound(problem, problem.traffic.total)
        assert told <= best, seed
        reached += bool(best) and told == best
    assert found > 10
    assert limits or reached > found // 2


def test_no_placement_beats_the_bound_of_optimal_and_its_plan_is_the_best():
    """Tasks run, some of them where a constraint does not want them, and flows were measured."""
    proven = told = 0
    for seed in range(REQUESTS):
        asked = small(seed, fresh=seed % 2 == 0)
        problem, plan = Problem.of(asked), HOST.schedule("optimal", asked, {"effort": 0.05})
        best = least(problem)
        if best is None or plan.bound is None:
            continue
        told += 1
        assert plan.status is Status.OK, seed
        assert plan.bound.value <= best / problem.traffic.scale, seed
        assert not plan.bound.proven or plan.scores.inter_node <= best / problem.traffic.scale, seed
        proven += plan.bound.proven
    assert told > 20
    assert proven > 0.9 * told


def test_tasks_of_a_component_that_are_not_alike_are_bounded_by_the_best_of_them():
    """Of four and four tasks with random flows and needs, no subset exchanges more or needs less than its part says."""
    dice = random.Random(5)
    for _ in range(20):
        problem = Problem.of(measured(dice))
        (parts,), units = parts_of(problem, 0, np.array([0]), NodeRules.of(problem), 10_000)
        assert units == problem.traffic.total
        rows = {tuple(each): at for at, each in enumerate(parts.least.tolist())}
        for tasks in itertools.product((False, True), repeat=problem.n):
            mine = np.array(tasks)
            counts = np.bincount(problem.component[mine], minlength=2)
            at = rows.get(tuple(counts.tolist()))
            if at is None:
                assert not counts.any() or (problem.demand[mine].sum(axis=0) > problem.capacity[0]).any()
                continue
            local = problem.traffic.total - problem.traffic.inter_node(np.where(mine, 0, -1))
            assert local <= parts.local[at] * problem.traffic.total * (1 + 1e-12)
            assert (problem.demand[mine].sum(axis=0) >= parts.takes[at, :-1]).all()


def measured(dice):
    parts = component("a", 4, 10.0, kind=Kind.SPOUT, rate=10.0), component("b", 4, 10.0)
    names = [f"t/{part}/{number}" for part in "ab" for number in range(4)]
    flows = tuple(
        Flow(source=one, target=other, tuples=float(dice.randint(1, 99)))
        for one in names[:4]
        for other in names[4:]
        if dice.random() < 0.7
    )
    samples = tuple(TaskSample(task=name, cpu=float(dice.randint(1, 40))) for name in names)
    shape = topology("t", *parts, streams=(Stream(source="a", target="b"),))
    return request([node("x", cpu=120.0)], [shape], metrics=Metrics(flows=flows, tasks=samples))


def pipelines(*constraints, names="stuv"):
    """Topologies of two components with two tasks each; three of them fill a node."""
    parts = component("a", 2, 10.0, kind=Kind.SPOUT, rate=90.0), component("b", 2, 10.0)
    streams = (Stream(source="a", target="b"),)
    shapes = [topology(name, *parts, streams=streams, constraints=tuple(constraints)) for name in names]
    return request([node(f"n{at}", cpu=120.0, slots=8) for at in range(4)], shapes)


@pytest.mark.parametrize(
    ("constraint", "share"),
    [
        (Constraint(kind=ConstraintKind.APART), 1.0),
        (Constraint(kind=ConstraintKind.APART, components=("a",)), 0.5),
        (Constraint(kind=ConstraintKind.AT_MOST, components=("a", "b"), limit=2), 0.5),
        (Constraint(kind=ConstraintKind.TOGETHER, components=("a",)), 0.0),
        (Constraint(kind=ConstraintKind.ONLY_ON, components=("a",), labels=FrozenMap(node=("n0",))), 0.5),
    ],
    ids=str,
)
@pytest.mark.parametrize("classes", [300, 0], ids=["searched", "bounded"])
def test_what_constraints_cost_is_proven(constraint, share, classes, monkeypatch):
    monkeypatch.setattr("headworks_exact.placement.CLASSES", classes)
    plan = HOST.schedule("optimal", attrs.evolve(pipelines(constraint), limits=Limits(deadline=60.0)))
    assert plan.scores.share == pytest.approx(share, abs=1e-6)
    assert plan.bound.proven


@pytest.mark.parametrize("scope", [Scope.RACK, Scope.ZONE])
@pytest.mark.parametrize(
    ("kind", "limit", "share"), [("apart", None, 1.0), ("at_most", 3, 0.5), ("together", None, 0.0)]
)
def test_constraints_on_racks_are_searched(scope, kind, limit, share):
    """Two nodes of each of two racks, or zones."""
    constraint = Constraint(kind=ConstraintKind(kind), scope=scope, limit=limit)
    made = pipelines(constraint, names="st")
    nodes = [attrs.evolve(each, **{scope.value: f"r{at % 2}"}) for at, each in enumerate(made.cluster.nodes)]
    made = attrs.evolve(made, cluster=attrs.evolve(made.cluster, nodes=tuple(nodes)), limits=Limits(deadline=60.0))
    plan = HOST.schedule("optimal", made)
    assert plan.scores.share == pytest.approx(share, abs=1e-6)
    assert plan.bound.proven


def test_topologies_that_do_not_all_fit_whole_are_proven_by_packing():
    """Three topologies of two thirds of a node each on two nodes: one of them is divided, whatever its shape."""
    parts = component("a", 3, 10.0, kind=Kind.SPOUT, rate=90.0), component("b", 3, 10.0)
    shapes = [topology(name, *parts, streams=(Stream(source="a", target="b"),)) for name in "stu"]
    asked = request([node(name, cpu=90.0, slots=8) for name in "xy"], shapes)
    problem = Problem.of(asked)
    best = 5 / 9 / 3
    assert bound(problem, problem.traffic.total) == pytest.approx(best * problem.traffic.total, rel=1e-6)

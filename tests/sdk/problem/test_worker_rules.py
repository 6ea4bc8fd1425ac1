"""Constraints within workers, by hand: how many workers tasks need, and which tasks have to be in one."""

from __future__ import annotations

import pytest

from headworks.model import (
    Cluster,
    Component,
    Constraint,
    ConstraintKind,
    Kind,
    Node,
    Request,
    Resources,
    Scope,
    Topology,
)
from headworks.problem import Problem
from headworks.problem.rules.worker_rules import WorkerRules

PARTS = {"a": 3, "b": 2, "c": 1}
"""Tasks by component: 0 to 2, 3 and 4, and 5."""


def rules(*constraints):
    parts = tuple(
        Component(id=name, kind=Kind.SPOUT, parallelism=number, demand=Resources(cpu=1.0))
        for name, number in PARTS.items()
    )
    node = Node(id="n", capacity=Resources(cpu=100.0), slots=tuple(range(8)))
    topology = Topology(id="t", components=parts, constraints=constraints)
    return WorkerRules(Problem.of(Request(cluster=Cluster(nodes=(node,)), topologies=(topology,))))


def within(kind, *components, limit=None):
    return Constraint(kind=kind, components=components, scope=Scope.WORKER, limit=limit)


@pytest.mark.parametrize(
    ("constraints", "workers"),
    [
        ((within(ConstraintKind.AT_MOST, "a", "b", limit=2),), 3),  # five tasks, two in each
        ((within(ConstraintKind.AT_MOST, "a", limit=2), within(ConstraintKind.AT_MOST, "b", limit=1)), 2),
        ((within(ConstraintKind.APART, "a", "b"),), 2),
        ((within(ConstraintKind.APART, "a", "b"), within(ConstraintKind.AT_MOST, "a", limit=1)), 4),  # three, and one
    ],
)
def test_workers_that_tasks_need_on_a_node(constraints, workers):
    assert rules(*constraints).needed(((0, 3), (1, 2), (2, 1))) == workers


@pytest.mark.parametrize(
    ("together", "sets"),
    [
        ([("a",)], [[0, 1, 2]]),
        ([("b", "c")], [[3, 4, 5]]),
        ([("a",), ("c",)], [[0, 1, 2], [5]]),
        ([("a", "b"), ("b", "c")], [[0, 1, 2, 3, 4, 5]]),
    ],
)
def test_tasks_that_have_to_be_in_one_worker(together, sets):
    found = rules(*(within(ConstraintKind.TOGETHER, *names) for names in together)).sets(range(6))
    assert sorted(found) == sets

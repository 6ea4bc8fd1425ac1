"""Repair of a decision that breaks constraints, by hand: who makes way for whom, and who is placed first."""

from __future__ import annotations

import numpy as np
import pytest

from headworks.model import Constraint, ConstraintKind, FrozenMap
from headworks.problem import Problem
from headworks.problem.repair.constraints import repair_hard
from small_requests import component, node, request, topology

NAMES = ("a", "b", "c")


def only_on(part, *nodes):
    return Constraint(kind=ConstraintKind.ONLY_ON, components=(part,), labels=FrozenMap(name=nodes))


def repaired(parts, rules, decided, running=(), max_moves=None):
    """Names of the nodes of tasks that need a node each, in the order of the components' ids."""
    machines = [node(name, labels=FrozenMap(name=name)) for name in NAMES]
    whole = topology("t", *(component(part, cpu=100.0) for part in parts), constraints=rules)
    problem = Problem.of(request(machines, [whole], running, max_moves))
    wanted = [NAMES.index(name) if name else -1 for name in decided]
    return [NAMES[at] if at >= 0 else None for at in repair_hard(problem, np.array(wanted, dtype=np.int64)).tolist()]


@pytest.mark.parametrize("decided", [("a", "c", "b"), ("a", None, "b")])
def test_what_is_new_makes_way_for_a_task_that_no_other_node_may_have(decided):
    rules = (only_on("second", "a"),)
    assert repaired(("first", "second", "third"), rules, decided, {"t/third/0": "b"}, 0) == ["c", "a", "b"]


def test_what_runs_makes_way_for_nobody_where_moves_are_limited():
    rules = (only_on("second", "a"),)
    found = repaired(("first", "second", "third"), rules, ("a", "c", "b"), {"t/first/0": "a"}, 5)
    assert found == ["a", None, "b"]


def test_what_is_bound_most_is_placed_first_wherever_all_were_decided():
    rules = (only_on("first", "a", "b"), only_on("second", "b", "c"), only_on("third", "a"))
    assert repaired(("first", "second", "third"), rules, ("a", "a", "a")) == ["b", "c", "a"]

"""The names of what the arrays are about, and where an assignment puts tasks."""

from __future__ import annotations

import numpy as np
import pytest

from headworks.model import FrozenMap
from headworks.problem import Problem
from small_requests import at, component, node, request, topology


@pytest.fixture
def problem():
    parts = [topology("u", component("z", 2), component("y")), topology("t", component("x"))]
    return Problem.of(request([node("b"), node("c"), node("a")], parts))


def test_names_and_indices_are_each_others_inverse(problem):
    assert (problem.n, problem.m) == (4, 3)
    assert problem.node_ids == ("a", "b", "c")
    assert problem.node_index == {"a": 0, "b": 1, "c": 2}
    assert problem.task_ids == ("t/x/0", "u/y/0", "u/z/0", "u/z/1")
    assert problem.task_index == {"t/x/0": 0, "u/y/0": 1, "u/z/0": 2, "u/z/1": 3}
    assert problem.topology_ids == ("t", "u")
    assert problem.components == (("t", "x"), ("u", "y"), ("u", "z"))


def test_a_task_of_an_assignment_has_its_node_and_any_other_none(problem):
    places = {"u/z/0": at("c"), "t/x/0": at("b:6701"), "u/z/1": at("gone"), "stranger/x/0": at("a")}
    found = problem.node_of(FrozenMap(places))
    assert found.tolist() == [1, -1, 2, -1]
    assert found.dtype == np.int64
    assert problem.node_of(FrozenMap()).tolist() == [-1] * 4

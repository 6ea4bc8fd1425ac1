"""Whole topologies by best fit decreasing: what a node holds is kept together."""

import numpy as np
import pytest

from headworks.model import Constraint, ConstraintKind, Stream
from headworks.problem import Problem
from headworks.toolbox.whole import whole_topologies
from random_requests import random_request
from small_requests import component, node, request, topology


def placed(nodes, topologies, closed=(), **more):
    problem = Problem.of(request(nodes, topologies, **more))
    found = whole_topologies(problem, closed)
    return {task: problem.node_ids[at] if at >= 0 else None for task, at in zip(problem.task_ids, found, strict=True)}


def of(name, *cpu, **more):
    return topology(name, *(component(f"c{number}", cpu=each) for number, each in enumerate(cpu)), **more)


def test_a_topology_goes_to_the_node_in_use_that_it_leaves_fullest():
    found = placed([node("a"), node("b")], [of("t", 40.0, 20.0), of("u", 30.0, 40.0), of("v", 20.0, 10.0)])
    assert found == {"u/c0/0": "a", "u/c1/0": "a", "v/c0/0": "a", "v/c1/0": "a", "t/c0/0": "b", "t/c1/0": "b"}


def test_what_no_node_holds_is_divided_where_it_exchanges_least():
    """The stream of c0 and c1 has ten times the tuples of that of c1 and c2."""
    parts = component("c0", 2, 40.0, rate=100.0), component("c1", 1, 20.0, selectivity=0.1), component("c2", 1, 20.0)
    streams = Stream(source="c0", target="c1"), Stream(source="c1", target="c2")
    found = placed([node("a"), node("b")], [topology("t", *parts, streams=streams)])
    assert {found["t/c0/0"], found["t/c0/1"], found["t/c1/0"]} == {"a"}
    assert found["t/c2/0"] == "b"


def test_closed_nodes_take_nothing():
    found = placed([node("a"), node("b")], [of("t", 60.0), of("u", 60.0)], closed=[0])
    assert sorted(found.values(), key=str) == [None, "b"]


def test_constraints_and_heap_limits_divide_what_would_fit():
    apart = Constraint(kind=ConstraintKind.APART, components=("c0", "c1"))
    found = placed([node("a"), node("b")], [of("t", 10.0, 10.0, constraints=(apart,))])
    assert found["t/c0/0"] != found["t/c1/0"]
    parts = [component("c", 2, 10.0, heap=60.0)]
    found = placed([node("a", slots=1), node("b", slots=1)], [topology("t", *parts, worker_heap=100.0)])
    assert set(found.values()) == {"a", "b"}


def test_asked_to_end_it_leaves_the_rest_out():
    problem = Problem.of(request([node("a")], [of("t", 10.0), of("u", 10.0)]))
    asked = iter([False, True])
    assert sorted(whole_topologies(problem, ended=lambda: next(asked)).tolist()) == [-1, 0]


@pytest.mark.parametrize("number", range(60))
def test_it_places_what_fits_and_overloads_nothing(number):
    problem = Problem.of(random_request(number))
    found = whole_topologies(problem)
    assert (problem.used(found) <= problem.capacity).all()
    plan = problem.plan(found)
    assert plan.scores.unplaced == (found < 0).sum()
    for index in np.unique(problem.topology).tolist():
        mine = problem.topology == index
        there = np.unique(found[mine])
        if len(there) > 1:  # then no node that is empty, and holds all of it, is left
            idle = np.setdiff1d(np.arange(problem.m), found)
            wide = (problem.capacity[idle] >= problem.demand[mine].sum(axis=0)).all(axis=1)
            assert np.isfinite(problem.heap_limit[index]) or not wide.any()

"""The multilevel start: tasks that exchange most become one, and are placed by what was measured between them."""

from __future__ import annotations

import itertools

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headworks import PluginHost
from headworks.model import Constraint, ConstraintKind, Flow, Metrics, Stream
from headworks.problem import Problem
from headworks.testing.instances.strategies import requests
from headworks_dstorm.plus.multilevel import PAIRS, multilevel
from small_requests import component, node, request, topology

GROUPS, WIDE = 6, 20
"""Groups of tasks that exchange with each other, and tasks of each of two components in a group."""


def keyed():
    """Task i of a sends to three of b with the same remainder, and a little to its neighbour; a node holds a group."""
    wide = GROUPS * WIDE
    parts = [component("a", wide, 10.0), component("b", wide, 10.0)]
    asked = request(
        [node(f"n{at}", 22.0 * WIDE) for at in range(GROUPS)],
        [topology("t", *parts, streams=(Stream(source="a", target="b"),))],
    )
    flows = [
        Flow(source=f"t/a/{at}", target=f"t/b/{(at + GROUPS * step) % wide}", tuples=100.0)
        for at in range(wide)
        for step in range(3)
    ]
    astray = [Flow(source=f"t/a/{at}", target=f"t/b/{(at + 1) % wide}", tuples=3.0) for at in range(wide)]
    return attrs.evolve(asked, metrics=Metrics(window=10.0, flows=(*flows, *astray)))


def placed(problem, **more):
    return multilevel(problem, range(problem.m), **{"node_cost": 0, "seed": 0, **more})


def test_groups_that_exchange_most_are_kept_on_a_node():
    problem = Problem.of(keyed())
    node_of = placed(problem)
    assert problem.traffic.inter_node(node_of) / problem.traffic.total == pytest.approx(1 / 101)
    assert (problem.used(node_of) <= problem.capacity).all()
    plan = PluginHost.load(["dstorm-plus"]).schedule("dstorm-plus", keyed())
    assert plan.scores.share == pytest.approx(1 / 101)


@given(asked=requests(), seed=st.integers(0, 9))
def test_nothing_is_overfull_and_what_is_fixed_stays(asked, seed):
    problem = Problem.of(asked)
    node_of = placed(problem, seed=seed)
    if node_of is None:
        return
    fixed = problem.fixed >= 0
    assert (node_of[fixed] == problem.fixed[fixed]).all()
    held = problem.used(np.where(fixed, problem.fixed, -1))
    assert (problem.used(node_of) <= np.maximum(problem.capacity, held)).all()
    assert not problem.plan(node_of, repair=False).scores.unplaced - (node_of < 0).sum()


def test_tasks_with_constraints_and_streams_of_many_pairs_are_left_to_other_starts():
    asked = keyed()
    (own,) = asked.topologies
    apart = Constraint(kind=ConstraintKind.AT_MOST, components=("a",), limit=WIDE)
    spread = attrs.evolve(own, constraints=(apart,))
    assert placed(Problem.of(attrs.evolve(asked, topologies=(spread,)))) is None
    wide = int(PAIRS**0.5) + 1
    parts = [component("a", wide, 1.0), component("b", wide, 1.0)]
    streams = (Stream(source="a", target="b", rate=10.0),)
    assert placed(Problem.of(request([node("n")], [topology("t", *parts, streams=streams)]))) is None


def test_asked_to_end_it_ends_with_what_is_placed():
    """Groups of the first placement are whole, though nothing was refined since."""
    problem = Problem.of(keyed())
    assert placed(problem, ended=lambda: True) is None
    calls = itertools.count()
    node_of = placed(problem, ended=lambda: next(calls) > 12)
    assert (node_of >= 0).all()
    assert (problem.used(node_of) <= problem.capacity).all()
    assert problem.traffic.inter_node(node_of) < problem.traffic.total / 2


def test_nodes_that_cost_nothing_are_used_where_they_save_traffic():
    """Four nodes hold all tasks, and six hold each group whole."""
    asked = keyed()
    half = [attrs.evolve(each, capacity=each.capacity | {"cpu": 33.0 * WIDE}) for each in asked.cluster.nodes]
    asked = attrs.evolve(asked, cluster=attrs.evolve(asked.cluster, nodes=tuple(half)))
    host = PluginHost.load(["dstorm-plus"])
    dear, free = (host.schedule("dstorm-plus", asked, {"node_cost": cost}).scores for cost in (0.5, 0.0))
    assert dear.nodes_used < free.nodes_used
    assert free.share < dear.share

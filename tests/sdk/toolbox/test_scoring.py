"""Scores of many placements are those of each alone."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headworks.problem import Problem
from headworks.testing.instances.strategies import requests
from headworks.toolbox.scoring import score_all


@given(asked=requests(), data=st.data())
def test_many_placements_score_as_each_alone(asked, data):
    problem = Problem.of(asked)
    places = st.lists(st.integers(-1, problem.m - 1), min_size=problem.n, max_size=problem.n)
    drawn = data.draw(st.lists(places, max_size=4))
    node_of = np.array(drawn, dtype=np.int64).reshape(len(drawn), problem.n)
    found = score_all(problem, node_of)
    assert found.inter_node.tolist() == [problem.traffic.inter_node(each) for each in node_of]
    assert found.nodes.tolist() == [len({node for node in each if node >= 0}) for each in drawn]
    over = [int((problem.used(each) > problem.capacity).any(axis=1).sum()) for each in node_of]
    assert found.overfull.tolist() == over
    assert found.unplaced.tolist() == [each.count(-1) for each in drawn]

"""The graph of a problem: its edges are what tasks exchange, its vertices what they need; coarsening keeps both."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headworks.model import Flow, Metrics, Stream
from headworks.problem import Problem
from headworks.testing.instances.strategies import requests
from headworks.toolbox.graph import LARGEST, graph, segments
from small_requests import component, node, request, topology


def exchanged(problem):
    """Units that each pair of tasks exchanges, the plain way, int64 (n, n)."""
    matrix = problem.traffic.between(np.arange(problem.n), problem.n) * problem.traffic.scale
    return (matrix + matrix.T).astype(np.int64)


def of_vertices(made):
    """Units that each pair of vertices exchanges by the graph, int64 (v, v)."""
    matrix = np.zeros((len(made), len(made)), dtype=np.int64)
    matrix[made.edges.sources, made.edges.indices] = made.edges.rate
    return matrix


def agrees(made):
    """Check a graph against the sums over pairs of tasks."""
    problem, count = made.problem, len(made)
    assert sorted(set(made.vertex.tolist())) == list(range(count))
    member = (made.vertex[None, :] == np.arange(count)[:, None]).astype(np.int64)
    summed = member @ exchanged(problem) @ member.T
    np.fill_diagonal(summed, 0)
    assert (of_vertices(made) == summed).all()
    assert (made.weights == member @ problem.demand).all()
    assert (made.heap == member @ problem.heap).all()
    assert made.first.tolist() == [int(row.argmax()) for row in member]


@given(asked=requests(), most=st.integers(1, 5))
def test_edges_and_weights_are_sums_over_the_tasks_of_vertices(asked, most):
    problem = Problem.of(asked)
    agrees(graph(problem))
    vertex = segments(problem, most)
    agrees(graph(problem, vertex))
    for each in range(vertex.max(initial=-1) + 1):
        tasks = np.flatnonzero(vertex == each)
        assert len(tasks) <= most
        assert len(set(problem.component[tasks].tolist())) == 1
        assert len(tasks) == 1 or (problem.fixed[tasks] < 0).all()


@given(asked=requests())
def test_a_coarser_graph_joins_pairs_of_a_topology_that_a_node_and_a_worker_hold(asked):
    fine = graph(Problem.of(asked))
    coarse, problem = fine.coarsen(), fine.problem
    agrees(coarse)
    assert coarse.first.tolist() == sorted(coarse.first.tolist())
    for each in range(len(coarse)):
        tasks = np.flatnonzero(coarse.vertex == each)
        assert len(tasks) in (1, 2)
        if len(tasks) == 2:
            assert len(set(problem.topology[tasks].tolist())) == 1
            assert (problem.fixed[tasks] < 0).all()
            assert (coarse.weights[each] <= LARGEST * problem.capacity.max(axis=0)).all()
            assert coarse.heap[each] <= LARGEST * problem.heap_limit[problem.topology[tasks[0]]]


def test_a_stream_between_many_tasks_has_few_edges_between_segments():
    parts = [component("a", 500, 1.0), component("b", 500, 1.0)]
    streams = (Stream(source="a", target="b", rate=100.0),)
    problem = Problem.of(request([node("n", 1_000.0)], [topology("t", *parts, streams=streams)]))
    made = graph(problem, segments(problem, 50))
    assert (len(made), len(made.edges.rate)) == (20, 2 * 10 * 10)
    assert made.edges.rate.sum() == 2 * problem.traffic.total


def test_the_heaviest_edges_are_joined_first():
    """Of four tasks in a ring the two pairs that exchange most, whatever is between the pairs."""
    asked = request([node("n", 400.0)], [topology("t", component("a", 4, 50.0))])
    rates = {(0, 1): 9.0, (1, 2): 1.0, (2, 3): 9.0, (3, 0): 1.0}
    flows = tuple(Flow(source=f"t/a/{one}", target=f"t/a/{two}", tuples=rate) for (one, two), rate in rates.items())
    problem = Problem.of(attrs.evolve(asked, metrics=Metrics(window=1.0, flows=flows)))
    coarse = graph(problem).coarsen()
    assert coarse.vertex.tolist() == [0, 0, 1, 1]
    assert coarse.edges.rate.tolist() == [2 * problem.traffic.scale] * 2
    assert len(coarse.coarsen(1.0)) == 1
    assert len(coarse.coarsen(0.25)) == 2


@pytest.mark.parametrize("asked", [request([], []), request([node("n")], [])])
def test_a_problem_without_tasks_has_an_empty_graph(asked):
    problem = Problem.of(asked)
    made = graph(problem, segments(problem, 4))
    assert len(made) == len(made.coarsen()) == 0

"""What tuples cost on their way between nodes: in demands, scores, headroom and the simulator alike."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headworks.control.knowledge import complete
from headworks.errors import DocumentError
from headworks.model import Kind, Metrics, Observation, Request, Stream, TaskSample, TransferCost
from headworks.model.knowledge import Knowledge
from headworks.model.scaling import declared_from_measured
from headworks.plugins.host import PluginHost
from headworks.problem import Problem
from headworks.problem.plan.check import check_plan
from headworks.problem.plan.score import fullest_cpu, score
from headworks.testing.instances.strategies import requests
from headworks_sim.fluid.layout import Layout
from headworks_sim.fluid.steady import Model
from random_requests import random_request
from small_requests import component, node, request, topology

COST = TransferCost(send=0.02, receive=0.03)


def two_nodes(**more):
    """A spout that sends 100 tuples/s to a bolt; each needs 40 points, on nodes of 100."""
    parts = (component("spout", 1, 40.0, kind=Kind.SPOUT, rate=100.0), component("bolt", 1, 40.0))
    stream = Stream(source="spout", target="bolt", tuple_bytes=50.0)
    return request([node("a", **more), node("b", **more)], [topology("t", *parts, streams=(stream,))], transfer=COST)


def apart(problem):
    """The bolt, which comes first by name, on node a and the spout on node b."""
    return problem.plan([0, 1])


@pytest.mark.parametrize("bandwidth", [None, 1e6])
def test_a_tuple_costs_its_sender_and_the_node_that_it_comes_to(bandwidth):
    problem = Problem.of(two_nodes(bandwidth=bandwidth))
    assert problem.cpu(np.array([0, 1])) == pytest.approx([43.0, 42.0])
    assert problem.cpu(np.array([0, 0])) == pytest.approx([80.0, 0.0])
    assert apart(problem).scores.fullest_node == pytest.approx(0.43)
    assert apart(problem).scores.factor == pytest.approx(1 / 0.43)


def test_a_placement_that_fits_by_demands_is_no_fault_for_its_transfers():
    asked = attrs.evolve(two_nodes(), transfer=TransferCost(send=1.0, receive=1.0))
    problem = Problem.of(asked)
    plan = apart(problem)
    assert plan.scores.factor < 1
    assert not check_plan(problem, plan)


def test_what_was_measured_of_a_task_has_what_it_sent():
    samples = tuple(TaskSample(task=f"t/{part}/0", cpu=40.0) for part in ("spout", "bolt"))
    asked = attrs.evolve(two_nodes(), metrics=Metrics(window=1.0, tasks=samples))
    running = attrs.evolve(asked, assignment=apart(Problem.of(asked)).assignment)
    problem = Problem.of(running)
    assert problem.demand[:, 0] == pytest.approx([40.0, 38.0])
    assert problem.cpu(np.array([0, 1])) == pytest.approx([43.0, 40.0])
    assert problem.cpu(np.array([1, 1])) == pytest.approx([0.0, 78.0])


def test_a_measured_demand_is_never_below_nothing():
    asked = attrs.evolve(two_nodes(), metrics=Metrics(window=1.0, tasks=(TaskSample(task="t/spout/0", cpu=1.0),)))
    running = attrs.evolve(asked, assignment=apart(Problem.of(asked)).assignment)
    assert Problem.of(running).demand[:, 0].tolist() == [40.0, 0.0]


@settings(max_examples=60)
@given(requests(fresh=True), st.integers(0, 9))
def test_every_node_has_what_leaves_it_and_comes_to_it(made, seed):
    problem = Problem.of(attrs.evolve(made, transfer=COST))
    node_of = np.random.default_rng(seed).integers(0, problem.m, problem.n)
    matrix = problem.traffic.between(node_of, problem.m)
    if problem.traffic.unit == "tuples/s":
        out, come = (matrix.sum(axis=way) - np.diag(matrix) for way in (1, 0))
        found = problem.cpu(node_of) - problem.used(node_of)[:, 0]
        assert found == pytest.approx(COST.send * out + COST.receive * come, rel=1e-6, abs=1e-6)
    assert fullest_cpu(problem, node_of) >= fullest_cpu(Problem.of(made), node_of)


@pytest.mark.parametrize("seed", range(20))
def test_the_simulator_counts_the_same_and_measures_what_a_plan_takes_off_again(seed):
    plain = random_request(seed)
    plain = attrs.evolve(plain, topologies=tuple(map(_shuffled, plain.topologies)))
    made = attrs.evolve(plain, transfer=COST)
    problem = Problem.of(made)
    node_of = np.random.default_rng(seed).integers(0, problem.m, problem.n)
    worker, every = node_of * 10 + problem.topology, np.ones(len(made.topologies))
    least = Model(Layout.of(made)).steady(node_of, worker, every).factor.min()
    found, without = (Model(Layout.of(each)).steady(node_of, worker, every * least) for each in (made, plain))
    assert found.factor == pytest.approx(without.factor)
    assert found.node_cpu - without.node_cpu == pytest.approx(problem.transfer_cpu(node_of) * least, rel=1e-6, abs=1e-6)
    sent = problem.traffic.sent(node_of) * problem.transfer[0]
    assert found.cpu - without.cpu == pytest.approx(sent * least, rel=1e-6, abs=1e-6)


def _shuffled(each):
    return attrs.evolve(
        each,
        worker_heap=None,
        streams=tuple(attrs.evolve(stream, grouping="shuffle") for stream in each.streams),
    )


def test_headroom_holds_with_what_transfers_take():
    parts = (component("spout", 4, 20.0, kind=Kind.SPOUT, rate=400.0), component("bolt", 4, 20.0))
    made = topology("t", *parts, streams=(Stream(source="spout", target="bolt"),))
    cost = TransferCost(send=0.05, receive=0.05)
    asked = request([node("a"), node("b"), node("c")], [made], transfer=cost)
    asked = attrs.evolve(asked, limits=attrs.evolve(asked.limits, fill=0.8))
    found = PluginHost.load(["dstorm-plus"]).schedule("dstorm-plus", asked)
    plain = Problem.of(attrs.evolve(asked, transfer=TransferCost()))
    assert found.scores.fullest_node <= 0.8
    assert found.scores.fullest_node > score(plain, found.assignment).fullest_node


def test_knowledge_brings_the_cost_and_an_engine_that_knows_it_keeps_it():
    seen = Observation(transfer=COST)
    assert complete(seen, Knowledge()).transfer == COST
    assert complete(Observation(), Knowledge(transfer=COST)).transfer == COST
    assert Request.of(seen).transfer == COST
    assert declared_from_measured(Request.of(seen)).transfer == COST


@pytest.mark.parametrize("name", ["send", "receive"])
def test_a_cost_below_nothing_is_refused_with_its_place(name):
    with pytest.raises(DocumentError, match=f"/transfer/{name}"):
        Problem.of(attrs.evolve(two_nodes(), transfer=TransferCost(**{name: -1.0})))

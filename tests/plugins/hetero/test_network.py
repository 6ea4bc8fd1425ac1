"""`hetero-plus` where nodes state a bandwidth, or the cost of transfers is known."""

from __future__ import annotations

import random

import attrs
import numpy as np
import pytest

from headworks.model import LOCAL, TUPLE_BYTES, Limits, Status, TransferCost
from headworks.model.scaling import rescaled
from headworks.plugins.host import PluginHost
from headworks.problem import Problem
from headworks.problem.arrays.profiles import throughput
from headworks.testing.instances.build import SeededDice
from headworks.testing.instances.profiled import build_profiled
from headworks.toolbox.instance_counts import InstanceCounts
from headworks_dstorm.plus import dstorm_plus
from headworks_hetero.plus import hetero_plus
from headworks_hetero.plus.network import Network
from hetero_cases import profiled
from tiers import cases

GROUPINGS = ("shuffle", "fields", LOCAL, "all", "global")


def run(request, **options):
    host = PluginHost().with_plugin("hetero-plus", hetero_plus)
    return host.schedule("hetero-plus", attrs.evolve(request, limits=Limits(deadline=300.0)), options)


def narrow(request, tuples):
    """The request whose nodes each send and receive so many tuples a second."""
    nodes = tuple(attrs.evolve(each, bandwidth=tuples * TUPLE_BYTES) for each in request.cluster.nodes)
    return attrs.evolve(request, cluster=attrs.evolve(request.cluster, nodes=nodes))


def at_most(request, tasks):
    """The request whose components have so many tasks at most."""
    (topology,) = request.topologies
    parts = tuple(attrs.evolve(each, max_parallelism=tasks) for each in topology.components)
    return attrs.evolve(request, topologies=(attrs.evolve(topology, components=parts),))


def with_counts(request, plan):
    """The request with the numbers of tasks of a plan, still priced by profiles."""
    counts = {tuple(name.split("/")): number for name, number in plan.parallelism.items()}
    topologies = tuple(
        attrs.evolve(
            each,
            components=tuple(
                attrs.evolve(part, parallelism=counts.get((each.id, part.id), part.parallelism))
                for part in each.components
            ),
        )
        for each in request.topologies
    )
    return attrs.evolve(request, topologies=topologies)


def test_more_tasks_on_two_nodes_lose_to_two_tasks_on_one_where_links_are_full():
    """Two nodes; a tuple costs 0.1 in c0 and 0.2 in c1, a task 10 % at any rate; 10 tuples/s pass between nodes.

    By CPU alone one of both on each node is best: (100 - 20) / 0.15 = 533.3 tuples/s, of which a quarter leaves either,
    so 40 with the network. All four on one node bear (100 - 40) / 0.3 = 200, and one of each (100 - 20) / 0.3 = 266.7.
    """
    request = profiled([[0.1], [0.2]], 10.0, machines=(2,))
    by_cpu = run(request)
    assert by_cpu.parallelism == {"t/c0": 2, "t/c1": 2}
    assert by_cpu.input_rate == pytest.approx(1600 / 3)
    placed = run(narrow(with_counts(request, by_cpu), 10.0), counts="given")
    assert placed.parallelism == by_cpu.parallelism
    assert placed.input_rate == pytest.approx(200.0)
    plan = run(narrow(request, 10.0))
    assert plan.parallelism == {"t/c0": 1, "t/c1": 1}
    assert plan.input_rate == pytest.approx(80 / 0.3)
    assert plan.scores.nodes_used == 1
    assert plan.scores.factor == pytest.approx(1.0)


def test_two_tasks_of_each_pass_less_than_one_of_each_on_its_own_node():
    """Two nodes; a tuple costs 0.1 in c0 and in c1; 200 tuples/s pass.

    One of each apart bear 1000 tuples/s by CPU, and 200 with the network; on one node 500. With one of both on each
    node a quarter of the tuples leaves either: 800.
    """
    request = at_most(profiled([[0.1], [0.1]], machines=(2,)), 2)
    assert run(request).parallelism == {"t/c0": 1, "t/c1": 1}
    assert run(narrow(request, 200.0), counts="given").input_rate == pytest.approx(500.0)
    plan = run(narrow(request, 200.0))
    assert plan.parallelism == {"t/c0": 2, "t/c1": 2}
    assert plan.input_rate == pytest.approx(800.0)
    assert plan.scores.throughput == pytest.approx(1600.0)
    assert plan.scores.fullest_link == pytest.approx(1.0)


def test_what_the_way_to_another_node_costs_counts_as_cpu():
    """As above, without bounds of links; 0.1 to send and 0.1 to receive: 0.1 + 0.1 of each apart, so 500 tuples/s.

    With one of both on each node, a quarter leaves and a quarter comes: 0.1 + 0.05 of each node, so 666.7.
    """
    request = at_most(profiled([[0.1], [0.1]], machines=(2,), transfer=TransferCost(send=0.1, receive=0.1)), 2)
    plan = run(request)
    assert plan.parallelism == {"t/c0": 2, "t/c1": 2}
    assert plan.input_rate == pytest.approx(1000 / 1.5)
    assert plan.scores.fullest_link == pytest.approx(0.5)  # a quarter of all, where each node's even share is a half


def test_a_network_that_is_wide_enough_changes_nothing():
    request = profiled([[0.1], [0.2]], 10.0, machines=(2,))
    plan, wide = run(request), run(narrow(request, 1e6))
    assert (wide.parallelism, wide.input_rate) == (plan.parallelism, plan.input_rate)


def drawn(seed):
    """A random request whose streams have any grouping, and whose links bound some placements."""
    request, dice = build_profiled(SeededDice(random.Random(seed))), np.random.default_rng(seed)
    topologies = tuple(
        attrs.evolve(
            each,
            streams=tuple(attrs.evolve(stream, grouping=str(dice.choice(GROUPINGS))) for stream in each.streams),
        )
        for each in request.topologies
    )
    transfer = TransferCost(send=float(dice.choice([0.0, 0.05])), receive=float(dice.choice([0.0, 0.02])))
    return narrow(attrs.evolve(request, topologies=topologies, transfer=transfer), float(dice.choice([20, 200, 2000])))


def test_counts_sustain_what_the_score_of_their_plan_says():
    """The core counts traffic task by task, the search by shares of tasks."""
    found = [pair for seed in range(40) for pair in rates(seed)]
    assert len(found) > 40
    for ours, scored in found:
        assert ours == pytest.approx(scored, rel=1e-6, abs=1e-9)


def rates(seed):
    """Tuples/s of some counts, by the search and by the score of their plan."""
    instances, dice = InstanceCounts.of(drawn(seed)), np.random.default_rng(seed)
    network = Network.of(instances)
    assert network is not None
    counts = dice.integers(0, 3, (60, *instances.profiled.e.shape))
    counts = counts[network.fits(counts, 100)][:5]
    for each, rate in zip(counts, network.rate(counts).tolist(), strict=True):
        plan = instances.plan(each, 1.0)
        if plan.scores.throughput is not None and plan.status is Status.OK:
            yield rate * float(instances.profiled.gain.sum()), plan.scores.throughput


@pytest.mark.parametrize("seed", cases(range(6), 3))
def test_it_gets_no_less_done_than_numbers_by_cpu_and_then_a_placement(seed):
    """The first half knows no network; the second one is `dstorm-plus`, or `hetero-plus` with the numbers given."""
    request = drawn(seed)
    nodes = tuple(attrs.evolve(each, bandwidth=None) for each in request.cluster.nodes)
    blind = attrs.evolve(request, cluster=attrs.evolve(request.cluster, nodes=nodes), transfer=TransferCost())
    first, joint = run(blind), run(request)
    if first.status is not Status.OK or joint.scores.throughput is None:
        return
    asked = rescaled(request, first)
    placed = PluginHost().with_plugin("dstorm-plus", dstorm_plus).schedule("dstorm-plus", asked)
    problem = Problem.of(asked)
    halves = [throughput(problem, problem.node_of(each.assignment)) for each in (first, placed)]
    halves.append(run(with_counts(request, first), counts="given").scores.throughput)
    assert joint.scores.throughput >= max(each or 0.0 for each in halves) * (1 - 1e-6)


def test_optimal_starts_from_it_and_proves_nothing_that_cpu_alone_does_not():
    pytest.importorskip("ortools")
    request = at_most(profiled([[0.1], [0.1]], machines=(2,)), 2)
    plan = PluginHost.load(["optimal", "hetero-plus"]).schedule("optimal", narrow(request, 200.0))
    assert plan.input_rate == pytest.approx(800.0)
    assert plan.scores.throughput == pytest.approx(1600.0)
    assert not plan.bound.proven

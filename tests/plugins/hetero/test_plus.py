from __future__ import annotations

import itertools

import attrs
import numpy as np
import pytest

from headgate.model import Limits, Resources, Status
from headgate.plugins.host import PluginHost
from headgate.toolbox.instance_counts import InstanceCounts
from headgate_hetero.options import Options
from headgate_hetero.pairs import Pairs
from headgate_hetero.planning import as_printed
from headgate_hetero.plus import hetero_plus
from headgate_hetero.workloads import SHAPES, micro_benchmark
from hetero_cases import profiled


def run(request, **options):
    host = PluginHost().with_plugin("hetero-plus", hetero_plus)
    return host.schedule("hetero-plus", attrs.evolve(request, limits=Limits(deadline=300.0)), options)


@pytest.mark.parametrize("met", [0.0, 5.0])
@pytest.mark.parametrize("shape", SHAPES)
def test_it_is_never_worse_than_the_printed_algorithm(shape, met):
    request = micro_benchmark(shape, (2, 2, 2), met)
    plan, printed = run(request), as_printed(request, Options())
    assert plan.status is Status.OK
    assert plan.scores.throughput >= printed.scores.throughput
    assert plan.scores.utilisation == pytest.approx(1.0)


def test_a5_both_machines_are_used():
    plan = run(profiled([[0.1, 0.2]]))
    assert plan.input_rate > 1300


def test_what_cannot_be_is_a_status():
    assert run(profiled([[0.1], [0.1]], met=60.0)).status is Status.INFEASIBLE
    assert run(profiled([[0.1]], rate=0.0)).status is Status.OK
    assert run(attrs.evolve(profiled([[0.1]]), profiles=())).status is Status.OK


OPTIMA = {"linear": 1652.7, "diamond": 2171.4, "star": 1607.1}
"""Proven by `optimal`, MET 5 on one machine of each type, tuples/s."""


@pytest.mark.parametrize("shape", SHAPES)
def test_three_machines_with_fixed_costs_come_within_one_percent_of_the_proven_optimum(shape):
    assert run(micro_benchmark(shape, (1, 1, 1), 5.0)).scores.throughput >= 0.99 * OPTIMA[shape]


def test_a_step_of_two_components_is_the_best_of_all():
    instances = InstanceCounts.of(profiled([[0.1, 0.2], [0.3, 0.2]], 5.0))
    search, counts = Pairs.of(instances, 10**6), np.array([[1, 0], [0, 1]])
    tried = itertools.product(search.steps, repeat=2)
    ways = [counts + np.array(pair) for pair in tried]
    ways = [each for each in ways if (each >= 0).all() and each.any(axis=1).all()]
    best = max(instances.profiled.max_factor(each, search.free) for each in ways)
    assert search.best(counts, (0, 1))[1] == pytest.approx(best)


def test_where_memory_may_bind_nothing_is_shaken():
    asked = profiled([[0.1, 0.2]])
    part = attrs.evolve(asked.topologies[0].components[0], demand=Resources(cpu=1.0, memory=60.0))
    nodes = tuple(attrs.evolve(each, capacity=Resources(cpu=100.0, memory=100.0)) for each in asked.cluster.nodes)
    topology = attrs.evolve(asked.topologies[0], components=(part,))
    tight = attrs.evolve(asked, cluster=attrs.evolve(asked.cluster, nodes=nodes), topologies=(topology,))
    plan = run(tight)
    assert plan.status is Status.OK
    assert sum(plan.parallelism.values()) <= 2

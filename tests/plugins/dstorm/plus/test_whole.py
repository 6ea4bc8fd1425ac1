"""Many small topologies: none is divided by which a plain rival, whole topologies first, has clearly less traffic."""

import random

import numpy as np
import pytest

from headworks.problem import Problem
from headworks_dstorm.options import PlusOptions
from headworks_dstorm.plus.starts import improve
from headworks_lab.benchmarks.schedulers.many_topologies import many_topologies, whole_first

REQUESTS, OF = 200, 10
POINTS = 0.005


def drawn(number):
    dice = random.Random(f"whole {number}")
    tasks, nodes = dice.randint(60, 240), dice.randint(3, 10)
    load, widest = dice.choice((0.6, 0.7, 0.8, 0.9)), dice.choice((3, 5, 8))
    return Problem.of(many_topologies(tasks, nodes, number, load=load, widest=widest))


@pytest.mark.parametrize("tenth", range(OF))
def test_no_more_traffic_than_with_whole_topologies_first(tenth):
    """A node fewer may cost up to a hundredth of all traffic, as the scheduler says."""
    for number in range(tenth, REQUESTS, OF):
        problem = drawn(number)
        rival = whole_first(problem)
        plan = improve(problem, PlusOptions(steps=4_000))
        assert plan.status == "ok"
        if (rival >= 0).all():
            fewer = max(len(np.unique(rival)) - plan.scores.nodes_used, 0)
            share = problem.traffic.inter_node(rival) / problem.traffic.total
            assert plan.scores.share <= share + POINTS + 0.01 * fewer, number


@pytest.mark.parametrize("seed", range(1, 4))
def test_topologies_for_which_nodes_have_room_are_whole(seed):
    plan = improve(Problem.of(many_topologies(500, 12, seed, load=0.8)), PlusOptions())
    assert (plan.scores.share, plan.scores.nodes_used) == (0.0, 10)
    assert plan.explanation.startswith("whole topologies: 0.0% of the traffic between nodes")

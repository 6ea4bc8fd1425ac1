"""What the annealing looks up of the traffic is what the traffic says."""

from __future__ import annotations

import numpy as np
import pytest

from dstorm_instances import instance
from headworks.problem import Problem
from headworks_dstorm.plus.exchange import Exchange, draw

SEEDS = range(40)


def matrix(problem):
    """Units that each pair of tasks exchanges, (n, n), read off the placements of two tasks on one node."""
    every = np.arange(problem.n)
    apart = problem.traffic.inter_node(every)
    found = np.zeros((problem.n, problem.n))
    for one in range(problem.n):
        for other in range(one):
            together = every.copy()
            together[other] = one
            found[one, other] = found[other, one] = apart - problem.traffic.inter_node(together)
    return found


def case(seed):
    problem = Problem.of(instance(seed))
    return problem, Exchange(problem), matrix(problem)


@pytest.mark.parametrize("seed", SEEDS)
def test_pairs_exchange_what_no_longer_crosses_nodes_when_they_meet(seed):
    problem, exchange, whole = case(seed)
    one, other = np.nonzero(~np.eye(problem.n, dtype=bool))
    assert (exchange.between(one, other) == whole[one, other]).all()
    alike = exchange.alike(one, other)
    for a, b in zip(one[alike], other[alike], strict=True):
        third = np.setdiff1d(np.arange(problem.n), (a, b))
        assert (whole[a, third] == whole[b, third]).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_the_best_peers_are_those_of_the_highest_rates(seed):
    """A task is among the peers of its own segment, and so are the streams and flows of one task counted apart."""
    problem, exchange, whole = case(seed)
    most = np.sort(whole, axis=1)[:, ::-1]
    assert (exchange.best(1.0) >= most[:, 0]).all()
    assert (exchange.best(float(problem.n)) >= whole.sum(axis=1)).all()
    if not (exchange.own.any() or len(exchange.flows)):
        for room in (1, 2, 5):
            assert (exchange.best(float(room)) == most[:, :room].sum(axis=1)).all()
        half = exchange.best(1.5) - exchange.best(1.0)
        assert (half == most[:, 1:2].sum(axis=1) / 2).all()


def test_peers_are_drawn_by_their_share_of_the_traffic():
    drawn = 0
    for seed in SEEDS:
        _, exchange, whole = case(seed)
        rng = np.random.default_rng(seed)
        for task in np.flatnonzero(whole.sum(axis=1) > 0)[:3]:
            weight = whole[task].copy()
            weight[task] = exchange.own[exchange.segment[task]]  # a step to where the task is: drawn, and not made
            count = np.bincount(
                exchange.peer(np.full(4000, task), rng.random(4000), rng.random(4000)), minlength=len(weight)
            )
            assert count / 4000 == pytest.approx(weight / weight.sum(), abs=0.05)
            assert not count[weight == 0].any()
            drawn += 1
    assert drawn > 50


def test_numbers_are_drawn_below_their_count():
    share = np.array([0.0, 0.5, 1.0 - 2.0**-53])
    assert draw(share, 2).tolist() == [0, 1, 1]
    assert draw(share, np.array([1, 3, 2**40])).tolist() == [0, 1, 2**40 - 1]

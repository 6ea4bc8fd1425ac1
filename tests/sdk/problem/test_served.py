"""Work that gets done where resources are full: known cases, and conditions that hold for every one."""

from __future__ import annotations

import numpy as np
import pytest

from headworks.problem.plan.served import served


def test_all_gets_done_where_nothing_is_full():
    assert served(np.array([[0.5, 0.2], [0.5, 0.7]]), np.array([1.0, 3.0])).tolist() == [1.0, 1.0]


def test_sources_of_one_full_node_share_it_by_their_tuples():
    found = served(np.array([[2.0], [2.0]]), np.array([1.0, 3.0]))
    assert found == pytest.approx([0.125, 0.375], abs=1e-3)


def test_a_source_does_not_wait_for_a_node_that_it_does_not_pass():
    assert served(np.array([[4.0, 0.0], [0.0, 0.9]]), np.ones(2)) == pytest.approx([0.25, 1.0], abs=1e-3)


def test_a_long_way_gets_less():
    """A line of two links, a source over both and one over each: proportional fairness gives 1/3 and 2/3."""
    found = served(np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]]), np.ones(3))
    assert found == pytest.approx([1 / 3, 2 / 3, 2 / 3], abs=2e-3)


@pytest.mark.parametrize("seed", range(50))
def test_no_resource_is_beyond_full_and_nobody_gets_more_at_less_cost_to_others(seed):
    dice = np.random.default_rng(seed)
    use = dice.uniform(0.0, 2.0, size=(4, 6)) * (dice.random((4, 6)) < 0.5)
    weight = dice.integers(1, 5, size=4).astype(float)
    found = served(use, weight)
    assert (found @ use <= 1 + 1e-9).all()
    assert ((found > 0) & (found <= 1)).all()
    free = 1 - (found @ use)
    for source in np.flatnonzero(found < 1 - 1e-6):
        assert free[use[source] > 0].min() < 0.01  # it waits for a full node
    other = np.minimum(1.0, found * dice.uniform(0.5, 1.5, size=4))
    other /= max(1.0, (other @ use).max())
    assert (weight * np.log(other)).sum() <= (weight * np.log(found)).sum() + 0.01

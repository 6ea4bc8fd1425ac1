"""The effect of a scheduler against another one, seed by seed."""

from __future__ import annotations

from random import Random

import pytest

from headworks_lab.measure.paired import effect


def test_what_both_seeds_share_is_no_effect():
    """Seeds differ by far more than the schedulers do: paired, the effect is seen all the same."""
    random = Random(1)
    first = {seed: random.uniform(100, 1000) for seed in range(10)}
    found = effect(first, {seed: 1.1 * value for seed, value in first.items()})
    assert found.times.median == found.times.low == found.times.high == pytest.approx(1.1)
    assert (found.pairs, found.more, found.less) == (10, 10, 0)
    assert found.chance == pytest.approx(2 / 2**10)
    assert found.difference.low > 0


def test_only_seeds_of_both_count_and_without_one_there_is_no_effect():
    assert effect({0: 1.0, 1: 2.0, 2: 9.0}, {0: 1.0, 1: 4.0, 5: 7.0}).pairs == 2
    assert effect({0: 1.0}, {1: 1.0}) is None


def test_ties_are_no_evidence_and_nothing_is_divided_by_zero():
    found = effect({0: 0.0, 1: 1.0, 2: 1.0}, {0: 1.0, 1: 1.0, 2: 0.0})
    assert (found.times, found.more, found.less, found.chance) == (None, 1, 1, 1.0)
    assert found.difference.low < 0 < found.difference.high
    assert effect({0: 1.0}, {0: 1.0}).chance == 1.0


def test_the_interval_of_a_difference_may_reach_below_zero():
    found = effect({0: 1.0, 1: 1.0}, {0: 1.1, 1: 3.0})
    assert found.difference.low < 0 < found.difference.median

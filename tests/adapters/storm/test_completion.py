"""The part of an offered load that is completed, against rates worked by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headworks_storm.workers.completion import completed_part

CHAIN = {("s", "a"): 100.0, ("a", "b"): 900.0}


@pytest.mark.parametrize(
    ("offered", "processed", "flows", "part"),
    [
        ({"s": 100.0}, {"s": 100.0, "a": 100.0, "b": 900.0}, CHAIN, 1.0),
        ({"s": 200.0}, {"s": 100.0, "a": 100.0, "b": 900.0}, CHAIN, 0.5),
        ({"s": 100.0}, {"s": 100.0, "a": 100.0, "b": 300.0}, CHAIN, 1 / 3),
        ({"s": 50.0}, {"s": 100.0, "a": 100.0, "b": 900.0}, CHAIN, 2.0),
        ({"s": 100.0}, {"s": 100.0, "a": 0.0, "b": 0.0}, {("s", "a"): 100.0}, 0.0),
        ({"s": 100.0}, {"s": 100.0}, {}, 1.0),
        ({"s": 100.0}, {}, {}, 0.0),
        ({"s": 0.0}, {"s": 0.0}, {}, None),
        ({}, {}, {}, None),
    ],
    ids=[
        *("whole", "half is taken", "a sink lags", "a backlog shrinks", "a bolt stands", "a spout alone"),
        *("a spout that is blocked", "nothing offered", "nothing known"),
    ],
)
def test_parts_worked_by_hand(offered, processed, flows, part):
    assert completed_part(offered, processed, flows) == (part if part is None else pytest.approx(part))


def test_of_two_branches_each_counts_by_what_it_should_receive():
    flows = {("s", "a"): 100.0, ("s", "b"): 100.0}
    assert completed_part({"s": 100.0}, {"s": 100.0, "a": 100.0, "b": 0.0}, flows) == pytest.approx(0.5)


def test_a_cycle_is_followed_until_it_settles_and_one_that_grows_is_not():
    # a receives 200: 100 from s, and 100 of its own
    flows = {("s", "a"): 100.0, ("a", "a"): 100.0, ("a", "b"): 200.0}
    assert completed_part({"s": 100.0}, {"s": 100.0, "a": 200.0, "b": 200.0}, flows) == pytest.approx(1.0)
    grows = {("s", "a"): 100.0, ("a", "a"): 300.0, ("a", "b"): 1.0}
    assert completed_part({"s": 100.0}, {"s": 100.0, "a": 200.0, "b": 1.0}, grows) is None


@given(st.lists(st.floats(0.01, 20.0), min_size=1, max_size=6), st.floats(1.0, 1e6), st.floats(0.01, 1.0))
def test_a_chain_that_takes_a_part_completes_it_whatever_its_selectivities(gains, load, taken):
    rates, flows = {"0": load * taken}, {}
    for number, gain in enumerate(gains):
        flows[str(number), str(number + 1)] = rates[str(number)] * gain
        rates[str(number + 1)] = rates[str(number)] * gain
    assert completed_part({"0": load}, rates, flows) == pytest.approx(taken)

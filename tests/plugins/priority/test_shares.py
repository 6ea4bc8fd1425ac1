"""How many nodes each topology gets: the thesis's tables, and what has to hold for any claims."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headworks_priority.claimants import Claimant
from headworks_priority.options import DpsOptions, SpsOptions, SpsV2Options
from headworks_priority.shares import dps, rounded, sps, sps_v2

U1 = ((1, 8, 4), (1, 8, 4), (2, 4, 2), (2, 4, 2))
U2 = ((1, 16, 8), (2, 8, 4))


def claims(*rows):
    """(priority, desired, minimum) each, by priority."""
    return [
        Claimant(topology=at, id=f"t{at}", priority=priority, desired=desired, minimum=minimum)
        for at, (priority, desired, minimum) in enumerate(rows)
    ]


def at_one_level(rows):
    return [(2, desired, minimum) for _, desired, minimum in rows]


@pytest.mark.parametrize(
    ("nodes", "x", "y", "on"),
    [
        (12, [4, 4, 2, 2], [4, 4, 2, 2], [6, 6, 0, 0]),
        (13, [5, 5, 2, 1], [5, 4, 2, 2], [7, 6, 0, 0]),
        (14, [5, 5, 2, 2], [5, 4, 3, 2], [7, 7, 0, 0]),
        (16, [6, 6, 2, 2], [6, 5, 3, 2], [8, 8, 0, 0]),
        (17, [6, 6, 3, 2], [6, 5, 3, 3], [8, 8, 1, 0]),
        (20, [7, 7, 3, 3], [7, 6, 4, 3], [8, 8, 2, 2]),
        (24, [8, 8, 4, 4], [8, 8, 4, 4], [8, 8, 4, 4]),
        (30, [8, 8, 4, 4], [8, 8, 4, 4], [8, 8, 4, 4]),
    ],
)
def test_use_case_1_at_every_size_worked_by_hand(nodes, x, y, on):
    assert sps(claims(*U1), nodes, SpsOptions()) == x
    assert sps(claims(*U1), nodes, SpsOptions(reading="Y")) == y
    assert dps(claims(*U1), nodes, DpsOptions()) == on


@pytest.mark.parametrize("rounding", ["half-up", "half-even"])
def test_the_printed_tables(rounding):
    assert sps(claims(*U1), 16, SpsOptions(rounding=rounding)) == [6, 6, 2, 2]
    assert sps(claims(*U2), 20, SpsOptions(rounding=rounding)) == [13, 7]
    assert sps(claims(*U2), 20, SpsOptions(rounding=rounding, reading="Y")) == [13, 7]
    assert dps(claims(*at_one_level(U1)), 16, DpsOptions(rounding=rounding)) == [5, 5, 3, 3]
    assert dps(claims(*U1), 16, DpsOptions(rounding=rounding)) == [8, 8, 0, 0]
    assert dps(claims(*at_one_level(U2)), 20, DpsOptions(rounding=rounding)) == [13, 7]
    assert dps(claims(*U2), 20, DpsOptions(rounding=rounding)) == [16, 4]


def test_the_other_rounding_leaves_a_node_idle():
    assert sum(sps(claims(*U1), 13, SpsOptions(rounding="half-even"))) == 12
    assert sps(claims(*U1), 16, SpsOptions(rounding="half-even", reading="Y")) == [6, 5, 2, 2]


def test_line_14_to_the_letter_distorts_a_cluster_with_more_nodes_than_desired():
    assert sps(claims(*U1), 30, SpsOptions(total="C")) == [10, 10, 2, 2]


@pytest.mark.parametrize(
    ("nodes", "strict", "proportional"),
    [
        (12, [4, 4, 2, 2], [4, 4, 2, 2]),
        (13, [5, 4, 2, 2], [5, 4, 2, 2]),
        (16, [8, 4, 2, 2], [6, 6, 2, 2]),
        (17, [8, 5, 2, 2], [6, 6, 3, 2]),
        (20, [8, 8, 2, 2], [7, 7, 3, 3]),
        (30, [8, 8, 4, 4], [8, 8, 4, 4]),
    ],
)
def test_v2_keeps_the_minima(nodes, strict, proportional):
    assert sps_v2(claims(*U1), nodes, SpsV2Options()) == proportional
    assert sps_v2(claims(*U1), nodes, SpsV2Options(surplus="strict")) == strict


@pytest.mark.parametrize(
    ("nodes", "shares"), [(0, [0, 0, 0, 0]), (3, [0, 0, 2, 0]), (8, [4, 4, 0, 0]), (11, [4, 4, 2, 0])]
)
def test_below_the_minima_the_most_important_have_theirs(nodes, shares):
    assert sps_v2(claims(*U1), nodes, SpsV2Options()) == shares
    assert sps(claims(*U1), nodes, SpsOptions(below_minima="by-priority")) == shares


@pytest.mark.parametrize(
    ("top", "bottom", "up", "even"),
    [(1, 2, 1, 0), (3, 2, 2, 2), (5, 2, 3, 2), (4, 3, 1, 1), (5, 3, 2, 2), (7, 0, 0, 0)],
)
def test_quotients_are_rounded_exactly(top, bottom, up, even):
    assert (rounded(top, bottom, "half-up"), rounded(top, bottom, "half-even")) == (up, even)


ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9), st.integers(0, 6)), min_size=1, max_size=8).map(
    lambda rows: claims(*sorted(rows))
)
OPTIONS = st.builds(
    SpsOptions,
    reading=st.sampled_from(["X", "Y"]),
    total=st.sampled_from(["min", "C"]),
    rounding=st.sampled_from(["half-up", "half-even"]),
)


@given(rows=ROWS, nodes=st.integers(0, 60), options=OPTIONS)
def test_no_rule_gives_more_nodes_than_there_are(rows, nodes, options):
    for shares in (sps(rows, nodes, options), dps(rows, nodes, options), sps_v2(rows, nodes, SpsV2Options())):
        assert sum(shares) <= nodes
        assert min(shares) >= 0


@given(rows=ROWS, nodes=st.integers(0, 60))
def test_dps_serves_a_level_only_with_what_higher_ones_do_not_desire(rows, nodes):
    shares = dps(rows, nodes, DpsOptions())
    for at, claim in enumerate(rows):
        above = [other for other in range(len(rows)) if rows[other].priority < claim.priority]
        wanted = sum(rows[other].desired for other in above)
        assert shares[at] <= max(nodes - min(sum(shares[other] for other in above), wanted), 0)


@given(rows=ROWS, nodes=st.integers(0, 60), surplus=st.sampled_from(["proportional", "strict"]))
def test_v2_honours_minima_wastes_nothing_and_respects_priority(rows, nodes, surplus):
    shares = sps_v2(rows, nodes, SpsV2Options(surplus=surplus))
    minima = sum(claim.minimum for claim in rows)
    if nodes < minima:
        assert all(share in (0, claim.minimum) for share, claim in zip(shares, rows, strict=True))
        return
    most = [max(claim.desired, claim.minimum) for claim in rows]
    assert all(claim.minimum <= share <= top for share, claim, top in zip(shares, rows, most, strict=True))
    assert sum(shares) == min(nodes, sum(most))
    for one, a in enumerate(rows):
        for two, b in enumerate(rows):
            if a.priority < b.priority and (a.desired, a.minimum) == (b.desired, b.minimum):
                assert shares[one] >= shares[two]

"""Fronts: a plan is on one unless another plan is better in some figure and as good in all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headworks.model import Plan, Scores, Status
from headworks.problem.plan.front import figures_of, front

FEW = st.integers(0, 2)
SCORES = st.builds(
    Scores,
    nodes_used=FEW,
    share=st.sampled_from((0.0, 0.1, 0.2)),
    factor=st.sampled_from((None, 1.0, 2.0)),
    moves=FEW,
    batch_seconds=st.sampled_from((None, 1.0, 2.0)),
    penalty=st.sampled_from((0.0, 1.0)),
    cost=st.sampled_from((None, 1.0, 2.0)),
    throughput=st.sampled_from((None, 10.0, 20.0)),
)
PLANS = st.lists(st.builds(Plan, status=st.sampled_from(Status), scores=SCORES), max_size=12)


def no_worse(one, other):
    return all(mine <= theirs for mine, theirs in zip(one, other, strict=True))


@given(plans=PLANS)
def test_a_front_is_all_whole_plans_that_no_other_beats(plans):
    found, figures = front(plans), figures_of(plans)
    whole = [number for number, plan in enumerate(plans) if plan.status is Status.OK]
    assert [figures[number] for number in found] == sorted({figures[number] for number in found})
    assert set(found) <= set(whole)
    for number in found:
        assert all(figures[each] == figures[number] or not no_worse(figures[each], figures[number]) for each in whole)
        assert number == min(each for each in whole if figures[each] == figures[number])
    for number in whole:
        assert any(no_worse(figures[each], figures[number]) for each in found)


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ({"nodes_used": 2}, {"nodes_used": 3}),
        ({"cost": 2.0, "nodes_used": 9}, {"cost": 2.5, "nodes_used": 3}),
        ({"share": 0.1}, {"share": 0.102}),
        ({"factor": 1.5}, {"factor": 1.4}),
        ({"throughput": 900.0, "factor": 1.0}, {"throughput": 800.0, "factor": 2.0}),
        ({"moves": 1}, {"moves": 2}),
        ({"batch_seconds": 1.5}, {"batch_seconds": 1.6}),
        ({"penalty": 0.0}, {"penalty": 0.5}),
    ],
)
def test_the_better_plan_in_one_figure_alone_beats_the_other(better, worse):
    assert front([Plan(scores=Scores(**worse)), Plan(scores=Scores(**better))]) == [1]


def test_nodes_count_alike_unless_all_plans_have_a_price():
    dear, cheap, unknown = (Plan(scores=Scores(nodes_used=n, cost=cost)) for n, cost in ((1, 5.0), (2, 2.0), (2, None)))
    assert front([dear, cheap]) == [1]
    assert front([dear, cheap, unknown]) == [0]


def test_figures_that_tables_show_alike_are_alike():
    plans = [Plan(scores=Scores(share=share, factor=factor)) for share, factor in ((0.3001, 1.5), (0.3, 1.498))]
    assert front(plans) == [0]

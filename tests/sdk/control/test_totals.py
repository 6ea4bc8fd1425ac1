from __future__ import annotations

import typing
from functools import reduce

import attrs
import pytest

from headworks.control.forecast import CheckedFigure
from headworks.control.journal import Outcome, Round
from headworks.control.totals import CARRIED, HeardRounds, Totals, plus
from headworks.model import FrozenMap, Receipt, Step
from headworks.problem import Problem
from small_requests import component, node, request, topology

ASKED = request(
    [node("a"), node("b")], [topology("t", component("c", 3, 20.0))], {"t/c/0": "a", "t/c/1": "a", "t/c/2": "a"}
)
NEW = attrs.evolve(ASKED, assignment=FrozenMap())
MOVES = Problem.of(ASKED).plan([0, 1, 1])
PLACES = Problem.of(NEW).plan([0, 0, 1])
STEPS = (Step(action="seat", subject="t/c/1", stopped=0.004), Step(action="seat", subject="t/c/2", stopped=0.006))


def checked(predicted, figure="share"):
    """A forecast beside 0.5, which was measured."""
    return CheckedFigure(
        round=2,
        engine="memory",
        scheduler="judge",
        figure=figure,
        simulated=predicted,
        predicted=predicted,
        measured=0.5,
    )


ROUNDS = (
    Round(number=1, outcome="executed", request=NEW, plan=PLACES),
    Round(
        number=2,
        outcome="executed",
        request=ASKED,
        plan=MOVES,
        receipt=Receipt(steps=(*STEPS, Step(action="x", subject="y"))),
    ),
    Round(number=3, outcome="waiting", request=ASKED, plan=PLACES),
    Round(number=4, outcome="quiet", checked=(checked(0.4), checked(0.5), checked(0.5, "latency"))),
)


def test_rounds_moves_and_stops_are_counted():
    found = reduce(plus, ROUNDS, Totals())
    assert found.rounds == {"executed": 2, "quiet": 1, "waiting": 1}
    assert found.moves == {"migrate": 2, "place": 3}
    assert (found.stops, found.stopped) == (2, pytest.approx(0.010))


def test_errors_of_forecasts_are_added_up_by_figure():
    found = reduce(plus, (*ROUNDS, ROUNDS[-1]), Totals())
    assert found.errors == {"latency": (2, 0.0), "share": (4, pytest.approx(0.4))}


def test_the_newest_round_with_a_request_the_newest_plan_and_the_one_that_was_carried_out_are_kept():
    found = reduce(plus, ROUNDS, Totals())
    assert (found.newest.number, found.planned.number, found.carried) == (3, 3, MOVES)
    seen = attrs.evolve(ROUNDS[3], request=ASKED)
    assert plus(found, seen).newest == seen
    assert plus(found, seen).planned.number == 3
    assert plus(found, Round(number=5, outcome="undone")).carried is None


@pytest.mark.parametrize("outcome", typing.get_args(Outcome))
def test_moves_are_counted_where_a_plan_was_carried_out(outcome):
    found = plus(Totals(), Round(number=1, outcome=outcome, request=ASKED, plan=MOVES))
    assert bool(found.moves) == (outcome in CARRIED) == (outcome in ("executed", "missed", "asserted", "answered"))


def test_rounds_are_heard_one_after_the_other():
    heard = HeardRounds()
    assert heard.newest() is None
    heard.seen = lambda: ASKED
    assert (heard.newest().request, heard.newest().plan) == (ASKED, None)
    for each in ROUNDS:
        heard.hear(each)
    assert heard.totals == reduce(plus, ROUNDS, Totals())
    assert heard.newest() == ROUNDS[2]

"""Rounds of Nimbus that come between a plan and its moves."""

from __future__ import annotations

import pytest

from headworks.control.loop import Control, Loop
from headworks.hooks import Description, hookimpl
from headworks.model import Plan
from headworks.plugins.host import PluginHost
from headworks.testing import FirstFit
from headworks_storm.nimbus.rounds import Rounds
from headworks_storm.target import StormTarget
from storm_movers import Mover
from storm_rounds import round_text, supervisor, word_count

TASKS = ["wc/__acker/0", "wc/count/0", "wc/count/1", "wc/lines/0"]


class Meanwhile:
    """A reviewer that objects to nothing, and lets a round of Nimbus pass."""

    def __init__(self, rounds, text):
        self._rounds, self._text = rounds, text

    @hookimpl
    def headworks_describe(self):
        return Description(summary="Lets a round pass.")

    @hookimpl
    def headworks_review(self, request, plan):
        self._rounds.answer(self._text)
        return ()


def nimbus(number, supervisors, slot=None):
    """A round with one topology, all of it in one slot or in none."""
    places = {} if slot is None else {"slots": [slot], "assignment": [0, 0, 0, 0]}
    return round_text(map(supervisor, supervisors), [word_count(**places)], number=number)


def round_between(scheduler, first, second):
    rounds = Rounds(lambda _request: Plan())
    rounds.answer(first)
    host = PluginHost.load(["storm"]).with_plugin("mover", scheduler)
    host = host.with_plugin("meanwhile", Meanwhile(rounds, second))
    control = Control(scheduler="mover", engine="storm", window=0.1)
    return Loop(host, control, StormTarget(rounds=rounds, patience=1.0)).round(replan=True)


def test_a_move_to_a_supervisor_that_died_meanwhile_is_not_wished():
    at = ("s1", 6700)
    mover = Mover(("wc/count/0",), "s2")
    done = round_between(mover, nimbus(1, ("s1", "s2"), at), nimbus(2, ("s1",), at))
    assert (done.outcome, done.receipt.dropped) == ("waiting", {"wc/count/0": "node s2 is gone"})
    assert done.receipt.steps == ()


@pytest.mark.parametrize("slot", [("s2", 6700), ("s1", 6701)])
def test_a_topology_that_a_round_has_started_meanwhile_stays_where_it_runs(slot):
    done = round_between(FirstFit(), nimbus(1, ("s1", "s2")), nimbus(2, ("s1", "s2"), slot))
    assert sorted(done.plan.assignment) == TASKS
    why = f"it was moved to {slot[0]}:{slot[1]} since it was observed"
    assert (done.outcome, done.receipt.dropped) == ("waiting", dict.fromkeys(TASKS, why))

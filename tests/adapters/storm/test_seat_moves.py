"""Several moves at once: how many are under way, what waits for its last move, what a failure leaves undone."""

from __future__ import annotations

import time

import pytest

from headworks.errors import EngineError
from headworks.model import Slot
from headworks_storm.seats.moves import _Batch, _run
from headworks_storm.seats.seat import Seat, SeatMove, SeatOrder, SeatView
from headworks_storm.seats.view import SeatWish

TASKS = 6


def seat(task, *, owner, settled=True):
    state = {"handing": False, "held": 0, "forwarded": 0, "disordered": 0, "pause": None}
    return Seat(
        task=task,
        component="c",
        index=task // 2,
        host="h",
        port=task % 2,
        owner=owner,
        epoch=0,
        settled=settled,
        **state,
    )


class Ledger:
    """The ledger of tasks with two seats each, which live in the even ones; a move is over after so many looks."""

    def __init__(self, *, looks=3, failing=(), unsettled=0):
        self.looks, self.failing, self.unsettled = looks, failing, unsettled
        self.under_way, self.most, self.orders = {}, 0, []

    def view(self):
        self.unsettled -= 1
        seats = [seat(task, owner=task % 2 == 0, settled=self.unsettled < 0) for task in range(2 * TASKS)]
        return SeatView(pages={}, seats=seats)

    def order(self, component, index, place, view):
        self.orders.append((index, place))
        self.under_way[index] = self.looks
        self.most = max(self.most, len(self.under_way))
        source, target = seat(2 * index, owner=True), seat(2 * index + 1, owner=False)
        return SeatOrder(source=source, target=target, epoch=1, began=time.monotonic())

    def look(self, order, view):
        index = order.source.index
        self.under_way[index] -= 1
        if self.under_way[index] > 0:
            return None
        del self.under_way[index]
        if index in self.failing:
            raise EngineError("its state cannot be had")
        return SeatMove(task=order.task, source="h:0", target="h:1", epoch=1, pause=5.0, seconds=0.1)

    def give_up(self, order, seconds):
        del self.under_way[order.source.index]
        return EngineError(f"{order.task}: {seconds}")


def batch(ledger, count=TASKS, *, at_once=4, seconds=30.0):
    wishes = [
        SeatWish(task=f"t/c/{index}", component="c", index=index, seat=2 * index + 1, before=Slot("h", 0))
        for index in range(count)
    ]
    return _Batch(ledger, wishes, at_once, seconds)


def run(ledger, count=TASKS, *, at_once=4, seconds=30.0):
    made = batch(ledger, count, at_once=at_once, seconds=seconds)
    _run([made])
    return made.done()


@pytest.mark.parametrize("at_once", [1, 2, 4, 100])
def test_as_many_are_under_way_as_may_be_and_all_are_made_in_order(at_once):
    ledger = Ledger()
    done = run(ledger, at_once=at_once)
    assert [each.task for each in done] == [f"c/{index}" for index in range(TASKS)]
    assert ledger.orders == [(index, "h:1") for index in range(TASKS)]
    assert ledger.most == min(at_once, TASKS)


def test_after_one_that_fails_no_other_begins_and_those_under_way_are_waited_for():
    ledger = Ledger(failing={1})
    done = run(ledger, at_once=2)
    assert [isinstance(each, SeatMove) for each in done] == [True, False, False, False, False, False]
    assert [str(each) for each in done[1:3]] == [
        "its state cannot be had",
        "not begun, for another move of the plan failed",
    ]
    assert ledger.orders == [(0, "h:1"), (1, "h:1")]
    assert not ledger.under_way


def test_topologies_move_their_tasks_side_by_side_and_what_fails_in_one_begins_no_other_in_any():
    one, other = Ledger(looks=5), Ledger(looks=5)
    batches = [batch(each, at_once=1) for each in (one, other)]
    _run(batches)
    assert [len(each.done()) for each in batches] == [TASKS, TASKS]
    assert one.most == other.most == 1
    one, other = Ledger(failing={0}), Ledger(looks=5)
    batches = [batch(each, at_once=1) for each in (one, other)]
    _run(batches)
    assert one.orders == other.orders == [(0, "h:1")]
    assert [isinstance(each, SeatMove) for each in batches[1].done()] == [True, *[False] * (TASKS - 1)]


class Gone(Ledger):
    """A ledger that can be read only so often."""

    def view(self):
        self.views = getattr(self, "views", 0) + 1
        if self.views > 2:
            raise EngineError("ZooKeeper is gone")
        return super().view()


def test_where_one_ledger_cannot_be_read_what_the_other_topology_did_is_told_as_it_was():
    batches = [batch(each, at_once=2) for each in (Gone(), Ledger())]
    _run(batches)
    assert {str(each) for each in batches[0].done()} == {"ZooKeeper is gone"}
    assert [isinstance(each, SeatMove) for each in batches[1].done()] == [True, True, *[False] * (TASKS - 2)]


def test_a_task_whose_last_move_has_not_settled_is_waited_for():
    ledger = Ledger(unsettled=5)
    assert [each.task for each in run(ledger, 1)] == ["c/0"]
    ledger = Ledger(unsettled=10**9)
    (error,) = run(ledger, 1, seconds=0.05)
    assert str(error) == "c/0: its last move has not settled in 0 s"
    assert ledger.orders == []


def test_a_move_that_hangs_is_given_up():
    (error, skipped) = run(Ledger(looks=10**9), 2, at_once=1, seconds=0.05)
    assert str(error) == "c/0: 0.05"
    assert "not begun" in str(skipped)

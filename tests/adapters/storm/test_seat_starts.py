"""Moves of tasks whose workers start: they wait for what these tell, and not for ever."""

from __future__ import annotations

import json

import pytest

from headworks.errors import EngineError
from headworks.model import Slot
from headworks_storm.seats import moves as seat_moves
from headworks_storm.seats.ledger import Seated, SeatLedger
from headworks_storm.seats.seat import SeatMove
from headworks_storm.seats.view import SeatWish

WISH = SeatWish(task="wc/count/0", component="count", index=0, seat=8, before=Slot("s1", 6700))


class Starting(SeatLedger):
    """A ledger of one task with seats 7 and 8, of which workers tell after some looks; what is ordered is done."""

    def __init__(self, silent: int) -> None:
        super().__init__(
            Seated(id="wc-1", name="wc", components={"count": {"tasks": 1}}, servers="", root="/storm"), self
        )
        self.silent, self.page = silent, {"owners": [[7, 1]], "wanted": {}, "refused": {}, "working": [1, 0]}

    def children(self, path):
        self.silent -= 1
        return [] if self.silent >= 0 else ["s1:6700", "s2:6700"]

    def read(self, path):
        if path.endswith("/components/count"):
            return json.dumps(self.page), 0
        seat = 7 if path.endswith("s1:6700") else 8
        owner, epoch = self.page["owners"][0]
        row = ["count", 0, owner == seat, epoch, False, True, 0, 0, 0, 5_000]
        return json.dumps({"seats": {str(seat): row}}), 0

    def write(self, path, text, version):
        self.page = json.loads(text)
        self.page["owners"] = [list(self.page["wanted"].get("0", self.page["owners"][0]))]
        return True


def moved(ledger: Starting, seconds: float) -> SeatMove | EngineError:
    """What becomes of the one move."""
    batch = seat_moves._Batch(ledger, [WISH], at_once=1, seconds=seconds)
    seat_moves._run([batch])
    return batch.done()[0]


def test_a_move_waits_for_workers_that_start() -> None:
    done = moved(Starting(silent=3), seconds=60.0)
    assert isinstance(done, SeatMove), done
    assert (done.source, done.target) == ("s1:6700", "s2:6700")


def test_workers_that_never_tell_of_their_seats_fail_it_when_its_time_is_over() -> None:
    done = moved(Starting(silent=10**6), seconds=0.2)
    assert isinstance(done, EngineError)
    assert "the worker with its seat 8 says nothing for" in str(done)


class Removed(Starting):
    """A ledger whose page somebody has removed."""

    def read(self, path):
        if path.endswith("/components/count"):
            raise LookupError
        return super().read(path)


def test_a_move_by_a_page_that_is_gone_is_refused_with_the_reason() -> None:
    ledger = Removed(silent=0)
    ledger.page["owners"] = [[7, 0]]
    with pytest.raises(EngineError, match="the ledger of wc has no page of count: its workers write it again"):
        ledger.order("count", 0, "s2:6700")


def test_who_asks_for_seats_of_which_no_worker_tells_is_told_so() -> None:
    with pytest.raises(EngineError, match="no worker of wc tells of its seats"):
        Starting(silent=1).seats()

"""Somebody is killed in a move on a real cluster, at random points of it: one owner is left, and nothing is lost."""

from __future__ import annotations

import os
import random
import signal
import time
from functools import partial
from typing import TYPE_CHECKING

import pytest

from headworks.errors import EngineError
from headworks_storm.seats.ledger import open_ledger
from storm_cluster import PATIENCE, wait_for
from storm_tally import Tally

if TYPE_CHECKING:
    from pathlib import Path

    from headworks_storm.local.processes import WorkerProcess
    from headworks_storm.seats.ledger import SeatLedger
    from headworks_storm.seats.seat import Seat
    from storm_breakable import BreakableStorm

pytestmark = [
    pytest.mark.storm,
    pytest.mark.slow,
    pytest.mark.network,
    pytest.mark.matrix,  # HandoverDeathsTest has workers die at each step, without a cluster
    pytest.mark.xdist_group("storm-seats"),
]

POINTS = int(os.environ.get("HEADWORKS_DEATHS", "2"))
"""Deaths of each kind, each at another random moment of a move."""
LONGEST = 0.6
"""Seconds after the order up to which somebody dies: a move on an idle machine takes as long."""
STOPPED = 20.0
"""Seconds for which ZooKeeper stands still."""
SEATS = 2 * (2 + 2)
CONF = {"headworks.seats.movable": "pass=stateless; sum=fields:sums", "headworks.seats.patience.secs": 5}


def settled(ledger: SeatLedger) -> list[Seat] | None:
    """The seats, once each task has one owner, the one of the ledger, and nothing of a move is under way.

    A worker that was killed is heard of for a while; its next life enters other ownerships before it says anything.
    """
    try:
        seats = ledger.seats()
    except EngineError:
        return None
    said = sorted((each.component, each.index, each.task, each.epoch) for each in seats if each.owner)
    pages = {each: ledger.view().pages[each]["owners"] for each in ("pass", "sum")}
    entered = [(name, index, *row[:2]) for name, rows in pages.items() for index, row in enumerate(rows)]
    whole = len(seats) == SEATS and said == sorted(entered)
    return seats if whole and all(each.settled for each in seats) else None


def order(ledger: SeatLedger, rng: random.Random) -> tuple[Seat, Seat] | None:
    """Order a move of any task, and wait for nothing; the seat that it leaves, and the one that it goes to.

    None while no move can be ordered: a worker that was killed is entered anew just now.
    """
    seats = settled(ledger)
    if seats is None:
        return None
    owner = rng.choice([each for each in seats if each.owner])
    key = (owner.component, owner.index)
    (other,) = (each for each in seats if (each.component, each.index) == key and not each.owner)
    try:
        ledger._order(*key, other.task, owner.epoch + 1)  # whoever ordered it may be dead by now
    except EngineError:
        return None
    return owner, other


def strike(storm: BreakableStorm, role: str, old: Seat, new: Seat) -> None:
    """Kill a worker, of which each has an upstream task, and see it start, or have ZooKeeper stand still."""
    if role == "zookeeper":
        (zookeeper,) = (each for each in storm.daemons if each.name == "zookeeper")
        for pid in zookeeper.members():
            os.kill(pid, signal.SIGSTOP)
        time.sleep(STOPPED)
        for pid in zookeeper.members():
            os.kill(pid, signal.SIGCONT)
    else:
        killed = storm.kill_worker((old if role == "old" else new).port)
        wait_for("the next life of the worker", lambda: again(storm, killed), 3 * PATIENCE)


def again(storm: BreakableStorm, killed: WorkerProcess) -> bool:
    """True once both workers run, in place of the one that was killed another."""
    pids = {each.pid for each in storm.workers() if each.topology == killed.topology}
    return len(pids) == 2 and killed.pid not in pids


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("role", ["old", "new", pytest.param("zookeeper", marks=pytest.mark.soak)])
def test_one_owner_is_left_and_all_that_was_sent_arrives_whoever_dies_in_a_move(
    seat_storm: BreakableStorm, tmp_path: Path, role: str
) -> None:
    name, rng = f"deaths-{role}", random.Random(5)
    tally = Tally(seat_storm, tmp_path)
    tally.submit_durable(name, rate=50.0, **CONF)
    with open_ledger(seat_storm.gateway, name) as ledger:
        for _ in range(POINTS):
            written = len(tally.numbers("written"))
            wait_for("tuples", lambda n=written: len(tally.numbers("written")) > n + 100)
            old, new = wait_for("one owner of each task", partial(order, ledger, rng), 3 * PATIENCE)
            time.sleep(rng.uniform(0, LONGEST))
            strike(seat_storm, role, old, new)
        wait_for("one owner of each task", partial(settled, ledger), 3 * PATIENCE)
    (tally.counts_folder / "stop").touch()
    wait_for("all that was sent is acked", lambda: tally.numbers("acked") == tally.numbers("sent"), 3 * PATIENCE)
    assert tally.numbers("sent") <= tally.numbers("written")
    seat_storm.gateway.kill(name, wait=0)

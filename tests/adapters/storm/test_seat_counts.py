"""The number of tasks that work changes on a real cluster: no tuple is lost or doubled, no worker restarts."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from headworks.errors import EngineError
from headworks_storm.cli.group import storm as commands
from headworks_storm.seats.ledger import SeatLedger, open_ledger
from headworks_storm.workers.collector import Collector
from storm_cluster import PATIENCE, wait_for
from storm_tally import Tally

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from headworks_storm.local.cluster import LocalStorm
    from headworks_storm.seats.seat import Seat

pytestmark = [
    pytest.mark.storm,
    pytest.mark.slow,
    pytest.mark.network,
    pytest.mark.matrix,  # GroupingTest asks the same of Storm's groupings without a cluster
    pytest.mark.xdist_group("storm-seats"),
]

NAME, TOKEN = "elastic", "seat counts"
RATE = 300.0
SEATS = 2 * (4 + 3)
STILL = 6.0
"""Seconds for which ZooKeeper answers nobody: less than a session lasts."""


def whole(ledger: SeatLedger) -> list[Seat] | None:
    try:
        found = ledger.seats()
    except EngineError:
        return None
    return found if len(found) == SEATS else None


def busy(collector: Collector, seats: list[Seat]) -> set[int]:
    """Indices of the tasks of `pass` that had tuples by the newest report of each worker."""
    index = {each.task: each.index for each in seats if each.component == "pass"}
    latest = {each.worker: each for each in collector.recent(PATIENCE)}
    return {index[row.task] for each in latest.values() for row in each.tasks if row.task in index and row.received}


@contextlib.contextmanager
def elastic(storm: LocalStorm, folder: Path, name: str) -> Iterator[tuple[Collector, SeatLedger]]:
    """A topology whose four tasks of `pass` need not all work; after the block every tuple has arrived once."""
    token = folder / "token"
    token.write_text(TOKEN)
    with Collector(token=TOKEN) as collector:
        conf = {
            "headworks.collector": "{}:{}".format(*collector.address),
            "headworks.collector.token.file": str(token),
            "headworks.monitor.seconds": 1,
            "headworks.seats.movable": "pass=stateless; number=fields:counts",
            "numbers.shuffle": True,
            "topology.disable.loadaware.messaging": True,  # which may leave out a task that is far away
        }
        numbers = Tally(storm, folder)
        numbers.submit_numbers(name, tuples=10**9, rate=RATE, acked=True, **conf)
        with open_ledger(storm.gateway, name) as ledger:
            wait_for("all seats told", lambda: whole(ledger))
            wait_for("tuples", lambda: numbers.written("sink")[0] > 0)
            before = pids(storm, name)
            yield collector, ledger
        storm.gateway.deactivate(name)
        sent = wait_for("all tuples acked", numbers.all_acked)
        wait_for("all tuples written", lambda: numbers.written("sink")[0] >= sent)
    assert numbers.written("sink") == [sent, 0, 0]
    assert pids(storm, name) == before
    storm.gateway.kill(name, wait=0)


@pytest.mark.timeout(1800)
def test_working_tasks_grow_and_shrink_and_every_tuple_arrives_once(seat_storm: LocalStorm, tmp_path: Path) -> None:
    with elastic(seat_storm, tmp_path, NAME) as (collector, ledger):
        seats = ledger.seats()
        for was, count in ((4, 1), (1, 3), (3, 2)):
            assert ledger.scale("pass", count) == was
            assert ledger.state().working == {"pass": count, "number": 3}
            wait_for(f"{count} tasks work", lambda n=count: busy(collector, seats) == set(range(n)))
        said = CliRunner().invoke(commands, ["scale", NAME, "pass=4", "--home", str(seat_storm.home)])
        assert said.output == "pass: 2 -> 4 tasks work\n"
        wait_for("4 tasks work", lambda: busy(collector, seats) == set(range(4)))
        with pytest.raises(EngineError, match="all 3 tasks of number have to work: only a stateless component"):
            ledger.scale("number", 2)
        with pytest.raises(EngineError, match="pass has 4 tasks: from 1 to 4 can work, and not 5"):
            ledger.scale("pass", 5)


@contextlib.contextmanager
def standing_still(storm: LocalStorm, seconds: float) -> Iterator[None]:
    """ZooKeeper answers nobody for so many seconds from now on, while the block runs."""
    pids = [pid for each in storm.daemons if each.name == "zookeeper" for pid in each.members()]

    def send(number: signal.Signals) -> None:
        for pid in pids:
            os.kill(pid, number)

    send(signal.SIGSTOP)
    timer = threading.Timer(seconds, send, [signal.SIGCONT])
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        send(signal.SIGCONT)


@pytest.mark.timeout(1800)
def test_a_number_is_changed_whole_though_zookeeper_answers_nobody_meanwhile(
    seat_storm: LocalStorm, tmp_path: Path
) -> None:
    with elastic(seat_storm, tmp_path, "stalled") as (collector, ledger):
        seats = ledger.seats()
        for was, count in ((4, 2), (2, 3), (3, 1)):
            with standing_still(seat_storm, STILL):
                began = time.monotonic()
                assert ledger.scale("pass", count) == was
                assert time.monotonic() - began > STILL / 2
            assert ledger.state().working == {"pass": count, "number": 3}
            wait_for(f"{count} tasks work", lambda n=count: busy(collector, seats) == set(range(n)))


def pids(storm: LocalStorm, name: str) -> set[int]:
    return {each.pid for each in storm.workers() if each.topology.startswith(f"{name}-")}

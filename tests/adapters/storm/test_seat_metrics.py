"""Moves of bolts that register metrics, cannot read their state here or there, or cannot be prepared twice."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from headworks.errors import EngineError
from headworks_storm.seats.ledger import SeatLedger, open_ledger
from storm_cluster import PATIENCE, wait_for
from storm_schemas import valid
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
    pytest.mark.xdist_group("storm-seats"),
    pytest.mark.timeout(1800),
]

NAME = "metered"
MOVES = 10
OLDER, NEWER = "own-older", {"own-counter", "own-tuples", "own-set.one"}
"""A metric of Storm's older interface, and some of the newer one."""


@pytest.fixture(scope="module")
def metered(seat_storm: LocalStorm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tally]:
    tally = Tally(seat_storm, tmp_path_factory.mktemp("metered"))
    bolts = ("meter", "stuck", "once", "bound")
    tally.submit_metrics(NAME, **{"headworks.seats.movable": "; ".join(f"{each}=movable" for each in bolts)})
    yield tally
    seat_storm.gateway.kill(NAME, wait=0)


@pytest.fixture
def ledger(metered: Tally) -> Iterator[SeatLedger]:
    with open_ledger(metered.storm.gateway, NAME) as found:
        wait_for("all seats told", lambda: len(found.told()) == 8)
        yield found


def seats(ledger: SeatLedger, component: str) -> tuple[Seat, Seat]:
    """The seat in which a task lives, and the other one."""
    found = [each for each in ledger.seats() if each.component == component]
    (here,), (there,) = ([each for each in found if each.owner is lives] for lives in (True, False))
    return here, there


def pids(storm: LocalStorm) -> set[int]:
    return {each.pid for each in storm.workers() if each.topology.startswith(f"{NAME}-")}


def told(folder: Path) -> list[tuple[int, str, float]]:
    """What Storm told of metrics up to now: task, name and value."""
    file = folder / "told"
    lines = file.read_text().rpartition("\n")[0].splitlines() if file.exists() else []
    return [(int(task), name, float(value)) for task, name, value in map(str.split, lines)]


def noted(folder: Path, bolt: str) -> Counter[str]:
    """How often a bolt was prepared, and cleaned up."""
    return Counter((folder / bolt).read_text().splitlines())


def test_a_bolt_with_metrics_moves_to_and_fro_and_storm_tells_of_it_where_it_lives(metered, ledger):
    folder = metered.counts_folder
    before = pids(metered.storm)
    wait_for("its metrics", lambda: {OLDER, *NEWER} <= {name for _, name, _ in told(folder)})
    for _ in range(MOVES):
        here, there = seats(ledger, "meter")
        ledger.move("meter", 0, there.place, seconds=PATIENCE)
        since = len(told(folder))
        had = max(value for task, name, value in told(folder) if (task, name) == (here.task, "own-tuples"))

        def counts(task=there.task, since=since) -> bool:
            new = [(name, value) for source, name, value in told(folder)[since:] if source == task]
            return {OLDER, *NEWER} <= {name for name, _ in new} and any(
                value > 0 for name, value in new if name == OLDER
            )

        wait_for("its metrics from there", counts)
        seen = [value for task, name, value in told(folder)[since:] if (task, name) == (there.task, "own-tuples")]
        assert max(seen) > had  # it has its state, too
    since = len(told(folder))
    wait_for("more of them", lambda: len(told(folder)) > since + 30)
    assert {task for task, _, _ in told(folder)[since:]} == {there.task}
    wait_for("all others cleaned up", lambda: noted(folder, "Meter")["cleaned up"] == 2 * MOVES)
    assert noted(folder, "Meter")["prepared"] == 2 * MOVES + 1  # of each move one that was a trial, and one that lived
    assert pids(metered.storm) == before
    assert not metered.storm.gateway.topology(NAME).errors


def test_a_bolt_that_cannot_read_its_state_stays_and_nothing_restarts(metered, ledger):
    before = pids(metered.storm)
    here, there = seats(ledger, "stuck")
    with pytest.raises(
        EngineError, match=r"its state \(movable\) can be written and not be read again: .*another version"
    ):
        ledger.move("stuck", 0, there.place, seconds=PATIENCE)
    assert seats(ledger, "stuck")[0].place == here.place
    assert noted(metered.counts_folder, "Stuck") == {"prepared": 2, "cleaned up": 1}
    assert pids(metered.storm) == before


def test_a_bolt_that_cannot_read_its_state_there_stays_with_all_of_it_and_nothing_restarts(metered, ledger):
    folder, before = metered.counts_folder, pids(metered.storm)
    here, there = seats(ledger, "bound")
    for failures in (1, 2):
        with pytest.raises(EngineError, match=r"bound/0 does not move: the other worker .*: .*example/OnlyThere"):
            ledger.move("bound", 0, there.place, seconds=PATIENCE)
        had = noted(folder, "Bound")["100 more"]
        wait_for("more tuples", lambda had=had: noted(folder, "Bound")["100 more"] > had + 2)
        wait_for("it is settled", lambda: all(each.settled for each in ledger.seats() if each.component == "bound"))
        # of each move one that was a trial here, and the one there
        wait_for("these cleaned up", lambda done=2 * failures: noted(folder, "Bound")["cleaned up"] == done)
        assert noted(folder, "Bound")["prepared"] == 1 + 2 * failures
    assert noted(folder, "Bound").keys() == {"prepared", "cleaned up", "100 more"}  # each tuple was the next one
    assert seats(ledger, "bound")[0].place == here.place
    assert seats(ledger, "bound")[0].lost == 0
    assert pids(metered.storm) == before
    assert not metered.storm.gateway.topology(NAME).errors


def test_pages_that_python_and_workers_write_are_documents_of_one_schema(ledger, monkeypatch):
    zookeeper, ordered = ledger._zookeeper, []
    write = zookeeper.write

    def noted_write(path, text, version):
        ordered.append(text)
        return write(path, text, version)

    monkeypatch.setattr(zookeeper, "write", noted_write)
    ledger.move("meter", 0, seats(ledger, "meter")[1].place, seconds=PATIENCE)
    nodes = [f"{ledger._root}/{kind}" for kind in ("components", "workers")]
    found = [zookeeper.read(f"{node}/{each}")[0] for node in nodes for each in zookeeper.children(node)]
    assert len(found) == 4 + 2
    assert any(valid("storm-ledger", each)["wanted"] for each in ordered)
    assert sum("seats" in valid("storm-ledger", each) for each in found) == 2


def test_a_bolt_that_cannot_be_prepared_there_stays_and_is_cleaned_up(metered, ledger):
    before = pids(metered.storm)
    here, there = seats(ledger, "once")
    with pytest.raises(EngineError, match=r"its bolt cannot be prepared there: .*the lock is taken"):
        ledger.move("once", 0, there.place, seconds=PATIENCE)
    assert seats(ledger, "once")[0].place == here.place
    # one that was to try the state here, and the one there
    assert noted(metered.counts_folder, "Once") == {"prepared": 3, "cleaned up": 2}
    assert pids(metered.storm) == before

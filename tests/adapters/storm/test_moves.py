"""Tasks that move between workers on a real cluster under load: no worker restarts, no tuple is lost or overtaken."""

from __future__ import annotations

import json
import random
import time
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from headworks.errors import EngineError
from headworks.plugins.host import PluginHost
from headworks_storm.cli.group import storm as commands
from headworks_storm.install.installation import Installation
from headworks_storm.local.home import write_conf
from headworks_storm.seats.ledger import SeatLedger, open_ledger
from headworks_storm.service import ServiceSettings, serve
from storm_cluster import PATIENCE, wait_for
from storm_tally import Tally

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from headworks_storm.local.cluster import LocalStorm

pytestmark = [pytest.mark.storm, pytest.mark.slow, pytest.mark.network, pytest.mark.xdist_group("storm-seats")]

TUPLES, RATE = 6_000, 300.0
"""Tuples of each of two spouts, and in a second: under load for 20 s at least, however fast the machine is."""
MOVES = 10
"""Moves that are made at least, before the last tuple and after."""
SETTLE = 30.0
"""Seconds after which a seat waits for no spout's marker any more (`headworks.storm.seats.Limits`)."""
TASKS = 4 + 3
"""Tasks that can move."""
CONF = {
    "headworks.seats.movable": "pass=stateless; number=fields:counts",
    "headworks.seats.patience.secs": 300,  # on a busy machine a marker may be late, and order is not to be given up
}


def submitted(storm: LocalStorm, folder: Path, name: str, *, acked: bool) -> Tally:
    """The topology, and the folder in which its spouts and sinks write down what they had."""
    folder.mkdir()
    tally = Tally(storm, folder)
    tally.submit_numbers(name, tuples=TUPLES, rate=RATE, acked=acked, **CONF)
    return tally


def pids(storm: LocalStorm, name: str) -> set[int]:
    return {each.pid for each in storm.workers() if each.topology.startswith(f"{name}-")}


@pytest.fixture(scope="module")
def storm(seat_storm: LocalStorm) -> LocalStorm:
    return seat_storm


def whole(ledger: SeatLedger) -> bool:
    """True once both workers tell of all their seats."""
    try:
        return len(ledger.seats()) == 2 * TASKS
    except EngineError:
        return False


def move_at_random(ledger: SeatLedger, rng: random.Random) -> float:
    """Move any task to its other seat; the pause."""
    owner = rng.choice([each for each in ledger.seats() if each.owner])
    (other,) = (
        each
        for each in ledger.seats()
        if (each.component, each.index) == (owner.component, owner.index) and each.task != owner.task
    )
    return ledger.move(owner.component, owner.index, other.place, seconds=PATIENCE).pause


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("acked", [pytest.param(False, marks=pytest.mark.matrix), True])
def test_tasks_move_under_load_and_every_tuple_arrives_once_and_in_order(storm, tmp_path, acked):
    name = f"numbers-{'acked' if acked else 'unacked'}"
    numbers = submitted(storm, tmp_path / "numbers", name, acked=acked)
    pauses, rng, under_load = [], random.Random(3), 0
    with open_ledger(storm.gateway, name) as ledger:
        wait_for("all seats told", lambda: whole(ledger))
        wait_for("tuples", lambda: numbers.written("sink")[0] > 0)
        before = pids(storm, name)
        assert len(before) == 2
        while numbers.written("spout")[0] < 2 * TUPLES or len(pauses) < MOVES:
            pauses.append(move_at_random(ledger, rng))
            under_load += numbers.written("spout")[0] < 2 * TUPLES
        wait_for("all tuples", lambda: numbers.written("sink")[0] >= 2 * TUPLES)
        if acked:
            wait_for("all tuples acked", lambda: numbers.written("spout")[1] >= 2 * TUPLES)
        time.sleep(3)  # whatever came twice would be counted by the next ticks
        seats = ledger.seats()
    assert numbers.written("sink") == [2 * TUPLES, 0, 0]
    assert numbers.written("spout") == [2 * TUPLES, 2 * TUPLES if acked else 0, 0]
    assert pids(storm, name) == before
    assert under_load > 0
    assert sum(each.forwarded for each in seats) > 0
    assert {each.disordered for each in seats} == {0}
    assert sum(each.owner for each in seats) == TASKS
    assert not storm.gateway.topology(name).errors
    assert None not in pauses
    storm.gateway.kill(name, wait=0)


def headworks(storm, *words, home=None):
    done = CliRunner().invoke(commands, [*words, "--home", str(home or storm.home)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture(scope="module")
def shown(storm, tmp_path_factory) -> Iterator[Tally]:
    """A topology of whose tuples nothing is asked."""
    numbers = submitted(storm, tmp_path_factory.mktemp("shown") / "numbers", "shown", acked=False)
    with open_ledger(storm.gateway, "shown") as ledger:
        wait_for("all seats told", lambda: whole(ledger))
    yield numbers
    storm.gateway.kill("shown", wait=0)


def places(ledger: SeatLedger, component: str, index: int) -> tuple[str, str]:
    """Where a task lives, and where its other seat is."""
    seats = [each for each in ledger.seats() if (each.component, each.index) == (component, index)]
    (here,), (there,) = ([each.place for each in seats if each.owner is lives] for lives in (True, False))
    return here, there


@pytest.mark.matrix
@pytest.mark.timeout(1800)
def test_commands_show_seats_and_move_a_task(storm, shown):
    before = pids(storm, "shown")
    found = json.loads(headworks(storm, "seats", "shown", "--json"))
    assert len(found) == 2 * TASKS
    (source,), (place,) = (
        ["{host}:{port}".format(**each) for each in found if (each["component"], each["index"], each["owner"]) == which]
        for which in (("pass", 2, True), ("pass", 2, False))
    )
    assert headworks(storm, "move", "shown", "pass/2", place, "--wait", str(PATIENCE)).split()[:4] == [
        "pass/2",
        source,
        "->",
        place,
    ]
    assert f"pass/2  {place}  ownership 1  " in headworks(storm, "seats", "shown")
    shown_rows = [line.split() for line in headworks(storm, "show", "shown").splitlines()[1:]]
    assert [row[2] for row in shown_rows if row[-1] == "pass/2"] == [place]
    assert sum(row[-1] == "nobody" for row in shown_rows) == TASKS
    assert pids(storm, "shown") == before


def refuse_to_start(_where: Installation) -> None:
    raise AssertionError("a command starts a JVM")


@pytest.mark.timeout(1800)
def test_commands_go_through_a_running_process_and_start_no_jvm(storm, shown, tmp_path, monkeypatch):
    home, endpoint = tmp_path / "home", tmp_path / "endpoint.json"
    home.mkdir()
    (home / "lib").symlink_to(storm.home / "lib")
    write_conf(home / "conf" / "storm.yaml", {**storm.client_conf, "headworks.endpoint": str(endpoint)})
    settings = ServiceSettings(endpoint=endpoint, nimbus=Installation.at(home).gateway, home=home)
    with serve(PluginHost.load(), "even", {}, settings), open_ledger(storm.gateway, "shown") as ledger:
        monkeypatch.setattr(Installation, "gateway", refuse_to_start)
        (topology,) = json.loads(headworks(storm, "show", "shown", "--json", home=home))
        assert topology["id"] == storm.gateway.topology("shown").id
        assert "shown  ACTIVE" in headworks(storm, "status", home=home)
        wait_for("no move under way", lambda: whole(ledger) and all(each.settled for each in ledger.seats()))
        here, there = places(ledger, "pass", 0)
        assert f"pass/0  {here}  " in headworks(storm, "seats", "shown", home=home)
        assert f"{here} -> {there}" in headworks(storm, "move", "shown", "pass/0", there, home=home)
        assert places(ledger, "pass", 0) == (there, here)
        with pytest.raises(EngineError, match=f"pass/0 lives at {there} already"):
            headworks(storm, "move", "shown", "pass/0", there, home=home)
        with pytest.raises(EngineError, match="no topology 'none' runs on this cluster"):
            headworks(storm, "kill", "none", home=home)
        with pytest.raises(EngineError, match="shown has seats, of which each worker has one for each task"):
            headworks(storm, "rebalance", "shown", "-e", "pass=1", home=home)
        headworks(storm, "deactivate", "shown", home=home)
        assert storm.gateway.topology("shown").status == "INACTIVE"
        headworks(storm, "activate", "shown", home=home)


@pytest.mark.matrix
@pytest.mark.timeout(1800)
def test_a_move_that_cannot_be_is_refused_and_its_sentence_says_why(storm, shown):
    with open_ledger(storm.gateway, "shown") as ledger:
        here, there = places(ledger, "pass", 1)
        for component, index, place, said in (
            ("pass", 1, here, f"pass/1 lives at {here} already"),
            ("pass", 1, "127.0.0.99:6700", "pass/1 has no seat at 127.0.0.99:6700: it has some at "),
            ("pass", 4, there, "pass has 4 tasks: there is no pass/4"),
            ("sink", 0, there, "sink has no seats: those of shown that have are "),
        ):
            with pytest.raises(EngineError, match=said):
                ledger.move(component, index, place, seconds=PATIENCE)
        assert places(ledger, "pass", 1) == (here, there)


@pytest.mark.matrix
@pytest.mark.timeout(1800)
def test_of_two_who_move_a_task_at_once_one_is_told_and_a_move_needs_nobody_who_waits_for_it(storm, shown):
    with open_ledger(storm.gateway, "shown") as ledger:
        here, there = places(ledger, "number", 1)
        taker, epoch = next(
            (each.task, each.epoch + 1)
            for each in ledger.seats()
            if (each.component, each.index, each.place) == ("number", 1, there)
        )
        ledger._order("number", 1, taker, epoch)  # by somebody who dies now
        with pytest.raises(EngineError, match="conflict: "):
            ledger._order("number", 1, taker, epoch)
        wait_for("the workers have moved it", lambda: moved(ledger, "number", 1, (there, here)))


@pytest.mark.timeout(1800)
def test_a_task_of_a_paused_topology_settles_and_no_seat_waits_until_it_gives_up(storm, shown):
    files = [each for each in shown.counts_folder.glob("spout-*") if not each.suffix]
    storm.gateway.deactivate("shown")
    try:
        # each writes its file twice a second while it is asked for tuples
        wait_for("spouts to rest", lambda: all(time.time() - each.stat().st_mtime > 3 for each in files))
        with open_ledger(storm.gateway, "shown") as ledger:
            _, there = places(ledger, "pass", 3)
            done = ledger.move("pass", 3, there, seconds=PATIENCE)
    finally:
        storm.gateway.activate("shown")
    assert done.seconds < SETTLE


@pytest.mark.timeout(1800)
def test_seats_of_which_none_moves_write_nothing_to_zookeeper_and_tell_of_the_next_move(storm, shown):
    with open_ledger(storm.gateway, "shown") as ledger:
        wait_for("no move under way", lambda: whole(ledger) and all(each.settled for each in ledger.seats()))
        before = written(ledger)
        assert len(before) == 2
        time.sleep(6)
        assert written(ledger) == before
        here, there = places(ledger, "pass", 2)
        ledger.move("pass", 2, there, seconds=PATIENCE)
        assert places(ledger, "pass", 2) == (there, here)
        assert written(ledger) != before


@pytest.mark.timeout(1800)
def test_a_ledger_that_is_removed_is_written_again_and_no_worker_that_starts_then_takes_a_task(storm, shown):
    with open_ledger(storm.gateway, "shown") as ledger:
        wait_for("no move under way", lambda: whole(ledger) and all(each.settled for each in ledger.seats()))
        here, there = places(ledger, "number", 0)
        lost = {each.lost for each in ledger.seats() if (each.component, each.index) == ("number", 0)}
        ledger.move("number", 0, there, seconds=PATIENCE)
        killed = storm.kill_worker(int(here.rpartition(":")[2]))
        ledger._zookeeper._client.delete().deletingChildrenIfNeeded().forPath(ledger._root)
        wait_for("the pages", lambda: all(ledger.view().pages.values()))
        wait_for("another life", lambda: len(pids(storm, "shown") - {killed.pid}) == 2, 3 * PATIENCE)
        wait_for("all seats told", lambda: whole(ledger) and sum(each.owner for each in ledger.seats()) == TASKS)
        assert places(ledger, "number", 0) == (there, here)
        assert lost == {each.lost for each in ledger.seats() if (each.component, each.index) == ("number", 0)}
        wait_for("no move under way", lambda: all(each.settled for each in ledger.seats()))
        ledger.move("number", 0, here, seconds=PATIENCE)


def written(ledger: SeatLedger) -> dict[str, int]:
    """How often each worker has written what its seats are, by ZooKeeper."""
    zookeeper, folder = ledger._zookeeper, f"{ledger._root}/workers"
    return {each: zookeeper.read(f"{folder}/{each}")[1] for each in zookeeper.children(folder)}


def moved(ledger, component, index, wanted):
    seats = [each for each in ledger.seats() if (each.component, each.index) == (component, index)]
    return (
        all(each.settled for each in seats)
        and sum(each.owner for each in seats) == 1
        and (places(ledger, component, index) == wanted)
    )

"""Moves to workers without memory for what moves: the task stays with its state, and no worker ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headworks.errors import EngineError
from headworks_storm.seats.ledger import open_ledger
from storm_cluster import PATIENCE, wait_for
from storm_tally import Tally

if TYPE_CHECKING:
    from pathlib import Path

    from storm_breakable import BreakableStorm

pytestmark = [
    pytest.mark.storm,
    pytest.mark.slow,
    pytest.mark.network,
    pytest.mark.xdist_group("storm-seats"),
    pytest.mark.timeout(1800),
]

NAME = "memory"
CONF = {
    "headworks.seats.movable": "large=movable; greedy=movable",
    "memory.state": 30,
    "memory.ballast": 60,
    "topology.worker.childopts": "-Xmx160m",
}
"""Storm takes three times a state as it comes, and 90 MB are free where the ballast is not."""


def test_a_worker_without_memory_takes_no_task_and_none_ends(seat_storm: BreakableStorm, tmp_path: Path) -> None:
    """The state of `large` is larger than what is free there; that of `greedy` takes all there is as it is read."""
    Tally(seat_storm, tmp_path).submit_memory(NAME, **CONF)

    def pids() -> set[int]:
        return {each.pid for each in seat_storm.workers() if each.topology.startswith(f"{NAME}-")}

    def noted(bolt: str, what: str) -> int:
        file = tmp_path / "counts" / bolt
        return file.read_text().splitlines().count(what) if file.exists() else 0

    with open_ledger(seat_storm.gateway, NAME) as ledger:
        wait_for("all seats told", lambda: len(ledger.told()) == 4, 3 * PATIENCE)
        wait_for("the states", lambda: [noted("Large", "large"), noted("Ballast", "prepared")] == [1, 2])
        before = pids()
        for component, why in (("large", r"less memory than 3 times .* bytes"), ("greedy", "OutOfMemoryError")):
            here, there = sorted((s for s in ledger.seats() if s.component == component), key=lambda s: not s.owner)
            with pytest.raises(EngineError, match=rf"{component}/0 does not move: the other worker .*{why}"):
                ledger.move(component, 0, there.place, seconds=PATIENCE)
            seats = [each for each in ledger.seats() if each.component == component]
            assert [(each.place, each.lost) for each in seats if each.owner] == [(here.place, 0)]
        assert pids() == before
        assert len(before) == 2
    seat_storm.gateway.kill(NAME, wait=0)

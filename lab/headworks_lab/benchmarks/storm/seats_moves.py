"""What a move between seats costs a topology at work: pauses, the longest gap beside sham moves, throughput, order.

Numbered tuples go through two layers of tasks that move; those of the second keep counts and as many bytes more as is
asked. In random order tasks of the second move, or the same commands are given and nothing moves (a sham): whatever
else the machine does lengthens the gaps of both. A gap is the time in which the sinks had no tuple of the task that was
moved, in the seconds from the order on. After that tasks of both layers move. At the end the sinks' counts are compared
with what spouts sent, and process ids with those of the start. Needs the sources of the tests, where the topology is.
"""

from __future__ import annotations

import argparse
import bisect
import contextlib
import itertools
import random
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from headworks.cli.output import console, table
from headworks.errors import EngineError
from headworks_storm.local.cluster import LocalStorm
from headworks_storm.release.artefacts import STORM
from headworks_storm.release.jar import own_jars
from headworks_storm.seats.ledger import SeatLedger, open_ledger

sys.path.insert(0, str(Path(__file__).parents[4] / "tests" / "adapters" / "storm"))
from storm_tally import TWO, Tally

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headworks_storm.seats.seat import Seat

VALIDATOR = {"nimbus.topology.validator": "headworks.storm.seats.Validator"}
SEATS = 2 * (4 + 3)
WATCHED = 2.0
"""Seconds from an order on in which gaps are looked for."""
WINDOW_MS = 100
LOW = 0.8
WAIT = 120.0
KB = 1024


@attrs.frozen
class Trial:
    """A move or a sham: when it was ordered, in ms since 1970, the index of the task, and the pause that was told."""

    began: float
    index: int
    sham: bool
    pause: float | None = None


class Bench:
    """One topology, and what is done to it."""

    def __init__(self, storm: LocalStorm, folder: Path, name: str, asked: argparse.Namespace, state: int) -> None:
        self.storm, self.name, self.asked = storm, name, asked
        self.rng = random.Random(asked.seed)
        self.tally = Tally(storm, folder)
        folder.mkdir()
        conf: dict[str, Any] = {
            "headworks.seats.movable": "pass=stateless; number=fields:counts,ballast",
            "headworks.seats.state.mb": 128,
            "headworks.seats.patience.secs": 60,
            "numbers.ballast": state,
            "numbers.log": True,
            "topology.component.resources.onheap.memory.mb": 24 + 8 * state / KB**2,
            "topology.worker.max.heap.size.mb": 4096.0,
        }
        # An input with no end but the one that is made: the spouts stop when the topology is deactivated.
        self.tally.submit_numbers(name, tuples=10**9, rate=asked.rate, acked=asked.acked, **conf)

    def seats(self, ledger: SeatLedger) -> list[Seat]:
        """All seats, once both workers tell of them."""
        while True:
            with contextlib.suppress(EngineError):
                if len(found := ledger.seats()) == SEATS:
                    return found
            time.sleep(0.2)

    def pids(self) -> set[int]:
        return {each.pid for each in self.storm.workers() if each.topology.startswith(f"{self.name}-")}

    def pick(self, ledger: SeatLedger, component: str | None = None) -> tuple[Seat, Seat]:
        """The seat of any task, and its other one."""
        seats = ledger.seats()
        owner = self.rng.choice([each for each in seats if each.owner and component in (None, each.component)])
        key = (owner.component, owner.index)
        (other,) = (each for each in seats if (each.component, each.index) == key and each.task != owner.task)
        return owner, other

    def trial(self, ledger: SeatLedger, *, sham: bool) -> Trial:
        """Move a task that counts, or look at the ledger as a move does, for as long as one takes."""
        owner, other = self.pick(ledger, "number")
        began = time.time()
        if sham:
            while time.time() < began + 0.3:
                ledger.seats()
                time.sleep(0.02)
            pause = None
        else:
            pause = ledger.move(owner.component, owner.index, other.place, seconds=WAIT).pause
        time.sleep(max(0.0, began + WATCHED - time.time()))
        return Trial(1000 * began, owner.index, sham, pause)

    def arrivals(self) -> dict[int, list[int]]:
        """Milliseconds at which tuples came, by the task that sent them."""
        found: dict[int, list[int]] = defaultdict(list)
        for file in self.tally.counts_folder.glob("sink-*.log"):
            for line in file.read_text().rpartition("\n")[0].splitlines():
                moment, task = map(int, line.split())
                found[task].append(moment)
        return {task: sorted(moments) for task, moments in found.items()}

    def settle(self) -> bool:
        """Stop the spouts, and wait for the last tuple; whether all came."""
        self.storm.gateway.deactivate(self.name)
        before, deadline = None, time.monotonic() + WAIT
        while time.monotonic() < deadline:
            time.sleep(3)
            now = self.tally.written("sink"), self.tally.written("spout")
            if now == before:
                break
            before = now
        sent, acked, failed = self.tally.written("spout")
        return self.tally.written("sink")[0] == sent and failed == 0 and (not self.asked.acked or acked == sent)


def gap(moments: Sequence[int], began: float) -> float:
    """Longest time without a tuple in the seconds after a moment, in milliseconds."""
    low, high = bisect.bisect_left(moments, began), bisect.bisect_right(moments, began + 1000 * WATCHED)
    inside = [began, *moments[low:high], began + 1000 * WATCHED]
    return max(b - a for a, b in itertools.pairwise(inside))


def low_windows(moments: np.ndarray, trials: Sequence[Trial]) -> float:
    """Share of trials in whose first second some window of 100 ms has less than 80 % of the usual throughput."""
    bins = np.bincount(((moments - moments[0]) // WINDOW_MS).astype(int))
    usual = np.median(bins)
    low = 0
    for each in trials:
        first = int((each.began - moments[0]) // WINDOW_MS)
        low += bool((bins[first + 1 : first + 11] < LOW * usual).any())
    return low / max(1, len(trials))


def interval(moves: Sequence[float], shams: Sequence[float], rng: random.Random) -> tuple[float, float, float]:
    """Difference of the means, and its 95 % interval by resampling."""
    found = sorted(
        statistics.mean(rng.choices(moves, k=len(moves))) - statistics.mean(rng.choices(shams, k=len(shams)))
        for _ in range(2000)
    )
    return statistics.mean(moves) - statistics.mean(shams), found[50], found[1949]


def percentile(values: Sequence[float], part: float) -> float:
    return sorted(values)[min(len(values) - 1, int(part * len(values)))]


def measure(storm: LocalStorm, folder: Path, state: int, asked: argparse.Namespace) -> dict[str, Any]:
    """The figures of one size of state."""
    name = f"moves-{state // KB}"
    bench = Bench(storm, folder / name, name, asked, state)
    moves = asked.moves if state <= KB else asked.large
    with open_ledger(storm.gateway, name) as ledger:
        bench.seats(ledger)
        while not bench.tally.written("sink")[0]:
            time.sleep(0.2)
        time.sleep(asked.warm_up)
        before = bench.pids()
        order = [False] * moves + [True] * moves
        bench.rng.shuffle(order)
        trials = [bench.trial(ledger, sham=sham) for sham in order]
        both = []
        for _ in range(asked.both if state <= KB else 0):
            owner, other = bench.pick(ledger)
            both.append(ledger.move(owner.component, owner.index, other.place, seconds=WAIT).pause)
        whole = bench.settle()
        disordered = sum(each.disordered for each in bench.seats(ledger))
    arrivals = bench.arrivals()
    first = 1 + bench.asked.acked  # Storm numbers by name: after the acker, if there is one
    pauses = [each.pause for each in trials if each.pause is not None]
    gaps = {
        sham: [gap(arrivals[first + each.index], each.began) for each in trials if each.sham is sham]
        for sham in (False, True)
    }
    moments = np.sort(np.concatenate([np.array(each) for each in arrivals.values()]))
    tuples, twice, behind = bench.tally.written("sink")
    figures = {
        "state": state,
        "moves": len(pauses),
        "pause": [statistics.median(pauses), percentile(pauses, 0.95), max(pauses)],
        "gap": [statistics.median(gaps[False]), statistics.median(gaps[True])],
        "difference": interval(gaps[False], gaps[True], bench.rng),
        "low": [low_windows(moments, [each for each in trials if each.sham is sham]) for sham in (False, True)],
        "both": len(both),
        "tuples": tuples,
        "twice": twice,
        "behind": behind,
        "disordered": disordered,
        "whole": whole,
        "restarts": len(before - bench.pids()),
    }
    storm.gateway.kill(name, wait=0)
    while bench.pids():
        time.sleep(0.5)
    return figures


def main() -> None:
    """Print a row for each size of state."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--moves", type=int, default=100, help="with 1 KB of state, and as many shams")
    parser.add_argument("--large", type=int, default=10, help="with each larger state, and as many shams")
    parser.add_argument("--both", type=int, default=200, help="moves of tasks of both layers after those")
    parser.add_argument("--states", type=int, nargs="*", default=[1, KB, 8 * KB, 63 * KB], help="KB of state")
    parser.add_argument("--rate", type=float, default=300.0, help="tuples a second of each of two spouts")
    parser.add_argument("--warm-up", type=float, default=20.0)
    parser.add_argument("--acked", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    rows = []
    own = own_jars()
    with (
        tempfile.TemporaryDirectory() as place,
        LocalStorm(TWO, conf=VALIDATOR, extlib=(own.bridge, own.seats), version=STORM) as storm,
    ):
        for state in asked.states:
            found = measure(storm, Path(place), state * KB, asked)
            rows.append(row(found))
            print(found, flush=True)
    heads = ("KB", "moves", "pause ms", "p95", "most", "gap ms", "sham", "difference, 95 %", "low", "sham low")
    console().print(table(f"Storm {STORM}", heads, rows, numbers=heads))


def row(found: dict[str, Any]) -> tuple[str, ...]:
    """A row of the table."""
    pause = (f"{each:.1f}" for each in found["pause"])
    gaps = (f"{each:.0f}" for each in found["gap"])
    mean, low, high = found["difference"]
    lows = (f"{100 * each:.0f} %" for each in found["low"])
    return (
        f"{found['state'] // KB}",
        f"{found['moves']}",
        *pause,
        *gaps,
        f"{mean:.0f} ({low:.0f} to {high:.0f})",
        *lows,
    )


if __name__ == "__main__":
    main()

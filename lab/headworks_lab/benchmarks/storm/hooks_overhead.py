"""What counting costs: tuples a second of a topology with the task hooks and without, and CPU time of its workers.

Runs alternate. WordCount over a text, acked, at full speed; with `--bare` bolts that do nothing but count what they
receive, unacked, so that the cost of a hook is as large a part as it can be. Full speed swings by more than hooks cost
on a machine of few cores; at a steady rate that it can bear (`--rate`, each of two bare spouts), the CPU time for each
tuple tells. Needs the sources of the tests, where the topologies are.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from headworks.cli.output import console, table
from headworks_storm.release.artefacts import STORM
from headworks_storm.service import HOOKS
from headworks_storm.workers.collector import Collector
from headworks_storm.workload.find import default_text

sys.path.insert(0, str(Path(__file__).parents[4] / "tests" / "adapters" / "storm"))
from storm_tally import Tally, hooked_storm

if TYPE_CHECKING:
    from headworks_storm.local.cluster import LocalStorm

TOKEN = "benchmark"
WARM_UP = 10.0
SECONDS = 15.0


def run(storm: LocalStorm, folder: Path, name: str, asked: argparse.Namespace, *, hooks: bool) -> tuple[float, float]:
    """Tuples a second that counting bolts receive, and CPU microseconds of workers for each."""
    folder.mkdir()
    tally, conf = Tally(storm, folder), HOOKS if hooks else {}
    if asked.bare or asked.rate:
        tally.submit(name, rate=asked.rate, acked=False, **conf)
    else:
        tally.submit_words(name, default_text(), **conf)
    while not tally.counts():
        time.sleep(0.5)
    time.sleep(WARM_UP)
    begin, used, before = time.perf_counter(), cpu(storm), sum(tally.counts().values())
    time.sleep(SECONDS)
    tuples = sum(tally.counts().values()) - before
    figures = tuples / (time.perf_counter() - begin), 1e6 * (cpu(storm) - used) / tuples
    storm.gateway.kill(name, wait=0)
    while storm.workers():
        time.sleep(0.5)
    return figures


def cpu(storm: LocalStorm) -> float:
    """CPU seconds of the worker processes so far."""
    return sum(sum(psutil.Process(each.pid).cpu_times()[:2]) for each in storm.workers())


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--bare", action="store_true", help="bolts that do nothing, unacked")
    parser.add_argument("--rate", type=float, default=0.0, help="tuples a second of each bare spout; 0: all it can")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place, Collector(token=TOKEN) as collector:
        folder = Path(place)
        (folder / "token").write_text(TOKEN)
        rows, speeds, costs = [], [], []
        with hooked_storm(collector, folder / "token", STORM, hooks=False, seconds=5) as storm:
            for pair in range(asked.pairs):
                order = (False, True) if pair % 2 == 0 else (True, False)
                runs = {
                    each: run(storm, folder / f"{pair}-{each}", f"t{pair}-{each}", asked, hooks=each) for each in order
                }
                (speed, cost), (hooked_speed, hooked_cost) = runs[False], runs[True]
                speeds.append(hooked_speed / speed)
                costs.append(hooked_cost / cost)
                figures = (f"{speed:,.0f}", f"{hooked_speed:,.0f}", f"{speeds[-1]:.3f}")
                rows.append((str(pair + 1), *figures, f"{cost:.2f}", f"{hooked_cost:.2f}", f"{costs[-1]:.3f}"))
                print(*rows[-1], flush=True)
    heads = ("pair", "without /s", "with /s", "ratio", "µs without", "µs with", "ratio of µs")
    console().print(table(f"Storm {STORM}, {collector.tally.received} reports", heads, rows, numbers=heads))
    for name, ratios in (("tuples/s", speeds), ("CPU per tuple", costs)):
        median = statistics.median(ratios)
        print(f"{name}, with / without: median {median:.3f}, {min(ratios):.3f} to {max(ratios):.3f}")


if __name__ == "__main__":
    main()

"""What a placement wins where the network is the bottleneck: Storm's own beside a scheduler's, at several rates.

    python -m headworks_lab.benchmarks.simulator.placement_gain [-O FOLDER] [--scheduler NAME] \
        [--networks 0.5mbit,1mbit,2mbit,20mbit]

A sweep on a real Storm cluster whose nodes are apart; it takes 40 s and its window for each of the 72 experiments, and
goes on from its folder if it is ended. Every placement is given the same offered load; what it cannot bear waits at
the source. `times` is the throughput by that of Storm's own placement, of each repetition by itself: the median, and
of several the smallest and the largest. Latencies are means from the spout to the last ack, in ms.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from headworks.cli.output import console, table
from headworks_lab.sweeps.experiments import ExperimentOutcome, Sweep, read_outcomes
from headworks_lab.sweeps.sweep import RESULTS
from headworks_local.isolated.limits import parse_rate

if TYPE_CHECKING:
    from collections.abc import Iterable

WORKLOADS = ("storm:rolling-count", "storm:unique-visitors", "storm:word-count")
NETWORKS = "0.5mbit,1mbit,2mbit,20mbit"
COLUMNS = ("workload", "Mbit/s", "offered", "Storm/s", "done/s", "times", "Storm ms", "ms", "Storm nodes", "nodes")
Figures = dict[tuple[str, float], dict[str, list[ExperimentOutcome]]]


def main() -> None:
    """Run what the folder does not have, and print the table; exit code 1 if an experiment failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", "-O", type=Path, default=Path("headworks-gain"))
    parser.add_argument("--scheduler", default="dstorm-plus")
    parser.add_argument("--networks", default=NETWORKS)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=15.0)
    given = parser.parse_args()
    asked = Sweep(
        workloads=WORKLOADS,
        schedulers=("storm", given.scheduler),
        seeds=given.seeds,
        seconds=given.seconds,
        engine="storm",
        networks=tuple(map(parse_rate, given.networks.split(","))),
    )
    code = run(asked, given.networks, given.output)
    found = read_outcomes(given.output / RESULTS, asked.experiments())
    groups = grouped(found.values()).items()
    rows = [cells(key, by, given.scheduler) for key, by in groups if {*asked.schedulers} <= by.keys()]
    console().print(table(f"Storm's own placement and {given.scheduler}", COLUMNS, rows, numbers=COLUMNS[1:]))
    raise SystemExit(code)


def run(asked: Sweep, networks: str, folder: Path) -> int:
    """The sweep, by the command; its exit code."""
    named = [word for each in asked.workloads for word in ("-w", each)]
    named += [word for each in asked.schedulers for word in ("-s", each)]
    repeated = ["--seeds", str(asked.seeds), "--seconds", str(asked.seconds), "--network", networks]
    command = [sys.executable, "-m", "headworks", "sweep", "--engine", "storm", *named, *repeated, "-O", str(folder)]
    return subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode


def grouped(outcomes: Iterable[ExperimentOutcome]) -> Figures:
    """Outcomes by workload and network, then by scheduler, in order of their seeds."""
    found: Figures = defaultdict(lambda: defaultdict(list))
    for each in sorted(outcomes, key=lambda each: each.experiment):
        found[each.experiment.workload, each.experiment.network][each.experiment.scheduler].append(each)
    return found


def cells(key: tuple[str, float], by: dict[str, list[ExperimentOutcome]], scheduler: str) -> tuple[str, ...]:
    """One row: medians of each placement, and the quotient of what they completed."""
    own, other = by["storm"], by[scheduler]
    pairs = {each.experiment.seed: each for each in own}
    times = [
        each.figures["throughput"] / pairs[each.experiment.seed].figures["throughput"]
        for each in other
        if each.experiment.seed in pairs
    ]
    spread = f" ({min(times):.2f}-{max(times):.2f})" if len(times) > 1 else ""
    gain = f"{statistics.median(times):.2f}{spread}" if times else "-"
    pair = [f"{median(some, 'throughput'):,.0f}" for some in (own, other)]
    latency = [f"{median(some, 'latency'):,.0f}" for some in (own, other)]
    nodes = [f"{median(some, 'nodes'):.0f}" for some in (own, other)]
    return (key[0], f"{key[1] / 1e6:g}", f"{median(own, 'offered'):,.0f}", *pair, gain, *latency, *nodes)


def median(outcomes: list[ExperimentOutcome], figure: str) -> float:
    """Median of a figure over the repetitions that have it."""
    return statistics.median(each.figures[figure] for each in outcomes if figure in each.figures)


if __name__ == "__main__":
    main()

"""Figures 9, 10 and 13 of the paper on nonstop task management, on a real cluster: what redeploying tasks costs.

Every minute tasks of a running word count are redeployed: by Storm's rebalance command, by restarts of the workers that
a plan changes, and by seats, so many at once. Then OTD adjusts Storm's deployment, one task a round. `headworks
reproduce otd --live` has the figures of these that the paper prints; here is all that was measured. `--poll 1 10`
measures instead what it costs that workers ask for their assignment so often, in seconds (Figure 9 d).
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import attrs

from headworks import PluginHost
from headworks.cli.output import Progress, console, table
from headworks_lab.storm.redeployment.degradation import LEVELS
from headworks_lab.storm.redeployment.run import ROUNDS, Online, Redeployment, adjust, polled, run

HEADS = ("way", "tasks", *(f"{level:.0%} less" for level in LEVELS), "throughput", "restarts", "seconds")


def row(found: Redeployment) -> tuple[str, ...]:
    """Parts of the time by level, throughput as a part of the usual one, workers that restarted."""
    levels = (f"{100 * found.degradation.share(level):.1f} %" for level in LEVELS)
    throughput, seconds = f"{100 * found.degradation.throughput:.0f} %", len(found.degradation.rates)
    return (found.way, str(found.tasks or "all"), *levels, throughput, str(found.restarted), str(seconds))


def online(found: Online) -> str:
    """What OTD did, in a sentence."""
    shares = ", ".join(f"{100 * each:.0f}" for each in found.shares[::5])
    return (
        f"OTD: {found.migrations} migrations; % of the bytes between nodes, each fifth look: {shares}; last "
        f"{100 * found.shares[-1]:.1f}, of tuples {100 * found.tuples[-1]:.1f}; "
        f"{found.slow} of {found.seconds} seconds below 80 % of the usual throughput; "
        f"{found.restarted} workers restarted"
    )


def main() -> None:
    """Print a row for each way, and what OTD did."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--at-once", type=int, nargs="*", default=[1, 2, 4, 8, 16], help="tasks of a redeployment")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="adjustments of OTD")
    parser.add_argument("--poll", type=int, nargs="*", default=[], help="values of task.refresh.poll.secs")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if asked.poll:
            found = [
                attrs.evolve(each, way=f"{each.way}, {seconds} s")
                for seconds in asked.poll
                for each in polled(PluginHost.load(), Path(folder), Progress(), seconds)
            ]
            otd = None
        else:
            found = list(run(PluginHost.load(), Path(folder), Progress(), asked.at_once))
            otd = adjust(PluginHost.load(), Path(folder), Progress(), asked.rounds)
    console().print(table("word count on Storm", HEADS, [row(each) for each in found], numbers=HEADS[1:]))
    if otd is not None:
        print(online(otd))


if __name__ == "__main__":
    main()

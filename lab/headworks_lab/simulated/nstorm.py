"""The migration experiment of N-Storm (paper 001, section 5.2): WordCount on two nodes, redeployed every minute."""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING

import attrs

from headworks.model import Slot
from headworks_lab.simulated.stalls import merged, seconds, slow_spans, stalls
from headworks_sim.fluid.migration import migrations

if TYPE_CHECKING:
    from headworks_lab.simulated.stalls import Interval
    from headworks_sim.fluid.timing import Timing

EXECUTORS, WORKERS, NODES = 36, 8, 2
"""Two bolts with 12 and 24 executors; the spout is fed by DRPC and stays."""
PERIOD, LENGTH = 60.0, 600.0
"""Seconds from one redeployment to the next, and of the experiment."""
REDEPLOYED = 9
"""Redeployments: the paper's 267 s of standstill under Storm are nine stops of 30 s."""
RUNS = 40
"""Seeds over which a figure is the mean. With fewer, the figures of M = 1 spread by more than their tolerance."""


@attrs.frozen(kw_only=True)
class Loss:
    """Seconds of 600 in which the topology is degraded by 60 % or more, in which it stands, and its mean throughput."""

    degraded: float
    stopped: float
    throughput: float


def experiment(timing: Timing, moved: int = 1, runs: int = RUNS) -> Loss:
    """Repeat the experiment over seeds.

    Args:
        timing: Style and cycles.
        moved: M, executors that move in each redeployment.
        runs: Seeds.
    """
    found = [_run(timing, moved, random.Random(seed)) for seed in range(runs)]
    degraded, stopped = (sum(column) / runs for column in zip(*found, strict=True))
    # Stopped seconds are degraded ones too; in the others the topology runs at the part `slow` of its rate.
    lost = stopped + (degraded - stopped) * (1 - timing.slow)
    return Loss(degraded=degraded, stopped=stopped, throughput=1 - lost / LENGTH)


def _run(timing: Timing, moved: int, dice: random.Random) -> tuple[float, float]:
    """One run of the experiment: seconds degraded, and seconds stopped."""
    slots = [Slot(f"node{worker % NODES}", worker) for worker in range(WORKERS)]
    running = {f"words/bolt/{number}": slots[number % WORKERS] for number in range(EXECUTORS)}
    stopped: list[Interval] = []
    slow: list[Interval] = []
    for number in range(1, REDEPLOYED + 1):
        asked = _redeployed(running, moved, slots, dice)
        made = migrations(number * PERIOD, running, asked, timing, dice)
        still = stalls([(each.off, each.on) for each in made], timing.stall_tasks)
        stopped += still
        slow += slow_spans(still, [max(each.on for each in made)] if made else [], timing)
        running = asked
    return seconds(merged([*stopped, *slow])), seconds(stopped)


def _redeployed(running: dict[str, Slot], moved: int, slots: list[Slot], dice: random.Random) -> dict[str, Slot]:
    """Move random executors to random other workers, evenly: no worker gets more than its part."""
    asked, load = dict(running), Counter(running.values())
    for task in sorted(dice.sample(sorted(running), moved)):
        others = [slot for slot in slots if slot != asked[task]]
        least = min(load[slot] for slot in others)
        load[asked[task]] -= 1
        asked[task] = dice.choice([slot for slot in others if load[slot] == least])
        load[asked[task]] += 1
    return asked

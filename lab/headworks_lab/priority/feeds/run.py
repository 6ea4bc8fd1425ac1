"""The run of use case 2: the same tuples under one scheduler after another, while their rate rises and falls."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from statistics import fmean
from typing import TYPE_CHECKING

import attrs

from headworks.errors import EngineError
from headworks.interrupts import raise_pending
from headworks.model import FrozenMap
from headworks_lab.priority.feeds.feeds import (
    FIRST,
    FeedWorkload,
    balances,
    latencies,
    result_key,
    schedule,
)
from headworks_lab.priority.phases import PATIENCE, BasePhase, settled_run, under_each
from headworks_lab.priority.steps import overheads

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from headworks.plugins.host import PluginHost
    from headworks_lab.priority.latency import Done, Key
    from headworks_lab.priority.site.site import Site

LISTEN = 0.05
"""Seconds that are waited for results between two looks at what is due. With more, tuples come in bursts."""


@attrs.frozen(kw_only=True)
class FeedPhase(BasePhase):
    """The tuples under one scheduler, and what became of them.

    Attributes:
        latencies: Seconds of each tuple (TT), by topology.
    """

    latencies: FrozenMap[str, tuple[float, ...]]

    @property
    def overheads(self) -> tuple[float, ...]:
        """Seconds of each change, from the trigger to spouts that emit again (O)."""
        return overheads(self.history, FIRST)

    def mean(self, topology: str) -> float:
        """Average latency of the tuples of a topology, in seconds."""
        return fmean(self.latencies[topology])


@attrs.frozen(kw_only=True)
class FeedDemoResult:
    """The result of the demo: the parameters, a phase for each scheduler, and how many seconds all of it took."""

    workload: FeedWorkload
    phases: tuple[FeedPhase, ...]
    seconds: float


def run(
    host: PluginHost, schedulers: Sequence[str], workload: FeedWorkload, folder: Path, say: Callable[[str], None]
) -> FeedDemoResult:
    """Run the demo; every process that it starts ends with it.

    Args:
        host: The plugins.
        schedulers: Names of schedulers, in order.
        workload: Parameters.
        folder: Scratch space.
        say: Takes progress messages.

    Raises:
        EngineError: Something does not start, or what was sent was not done in time.
    """
    phases, seconds = under_each(
        host, schedulers, workload, folder, say, lambda there, scheduler: _phase(there, scheduler, workload, say)
    )
    return FeedDemoResult(workload=workload, phases=phases, seconds=seconds)


def _phase(there: Site, scheduler: str, workload: FeedWorkload, say: Callable[[str], None]) -> FeedPhase:
    (sent, done), begin, end = settled_run(there, scheduler, say, lambda: _feed(there, scheduler, workload, say))
    return FeedPhase(
        scheduler=scheduler,
        begin=begin,
        end=end,
        spans=there.watcher.spans(begin, end),
        latencies=latencies(sent, done),
        balances=balances(sent, scheduler, there.written()),
        history=there.history(begin),
    )


def _feed(
    there: Site, scheduler: str, workload: FeedWorkload, say: Callable[[str], None]
) -> tuple[dict[Key, float], dict[Key, Done]]:
    """Send tuples at their times, and take results until all are there."""
    sent: dict[Key, float] = {}
    done: dict[Key, Done] = {}
    due, begin = list(schedule(workload)), time.monotonic()
    last = due[-1].at
    say(f"{scheduler}: {len(due)} tuples come within {last:.0f} s")
    due.reverse()
    while due or sent.keys() - done.keys():
        raise_pending()
        while due and time.monotonic() >= begin + due[-1].at:
            each = due.pop()
            sent[result_key(each, scheduler)] = time.time()
            moment = datetime.now(UTC).isoformat(timespec="milliseconds")
            there.broker.put(each.topic, each.producer, each.line(scheduler, moment))
        for key, each_done in there.broker.listen(LISTEN):
            done.setdefault(key, each_done)
        if time.monotonic() > begin + last + PATIENCE:
            left = len(sent.keys() - done.keys())
            raise EngineError(f"{scheduler}: {left} tuples had no result {PATIENCE:.0f} s after the last was sent")
    return sent, done

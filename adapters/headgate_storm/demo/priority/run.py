"""The run of the demo: the same batches under one scheduler after another, while triggers come and nodes change."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import attrs

from headgate.errors import EngineError
from headgate.interrupts import check
from headgate.model import FrozenMap
from headgate_storm.demo.priority.holding import Span
from headgate_storm.demo.priority.latency import (
    Balance,
    Done,
    Key,
    Latencies,
    balances,
    expected,
    latencies,
    wrong_events,
)
from headgate_storm.demo.priority.site import Site, site, wait
from headgate_storm.demo.priority.steps import changes, moments
from headgate_storm.demo.priority.workload import CASE, MEMBERS, Workload

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from headgate.plugins.host import PluginHost

PATIENCE = 600.0
"""Seconds that topologies may take to do all that was sent. With fewer, a busy machine fails the demo."""


@attrs.frozen(kw_only=True)
class Phase:
    """The batches under one scheduler, and what became of them.

    Attributes:
        scheduler: Its name.
        begin: Seconds since 1970 at which the first batch was sent. `end`: when nodes were back and all was done.
        spans: Who held which node when.
        latencies: Latency of complex events and of tuples.
        balances: Tuples in and out, by topology.
        history: Rows of the manager's history of all topologies meanwhile, by number.
    """

    scheduler: str
    begin: float
    end: float
    spans: tuple[Span, ...]
    latencies: Latencies
    balances: FrozenMap[str, Balance]
    history: tuple[FrozenMap[str, Any], ...]

    @property
    def steps(self) -> tuple[str, ...]:
        """Steps of changes of nodes in the history, in order; one of several topologies is one step."""
        return tuple(word for _, word in moments(self.history))

    @property
    def changes(self) -> int:
        """Changes of nodes of which every step of Figure 6 is in the history."""
        return changes(self.steps)


@attrs.frozen(kw_only=True)
class PriorityDemoResult:
    """The result of the demo.

    Attributes:
        workload: Parameters.
        phases: One for each scheduler.
        seconds: How long all of it took.
    """

    workload: Workload
    phases: tuple[Phase, ...]
    seconds: float


def run(
    host: PluginHost, schedulers: Sequence[str], workload: Workload, folder: Path, say: Callable[[str], None]
) -> PriorityDemoResult:
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
    begin = time.monotonic()
    with site(host, CASE, folder, say) as there:
        say(f"all of it is up; submitting {', '.join(each.name for each in MEMBERS)}")
        there.run_topologies(workload, folder)
        phases = tuple(_phase(there, scheduler, workload, say) for scheduler in schedulers)
        say("ending the cluster")
    return PriorityDemoResult(workload=workload, phases=phases, seconds=time.monotonic() - begin)


def _phase(there: Site, scheduler: str, workload: Workload, say: Callable[[str], None]) -> Phase:
    with there.rounds(scheduler) as rounds:
        there.settle(rounds, scheduler, say)
        say(f"{scheduler}: {workload.batches} batches begin")
        begin = time.time()
        sent, done = _batches(there, scheduler, workload, say)
        wait("the nodes to come back", lambda: there.settled(rounds), PATIENCE)
        end = time.time()
    if wrong := wrong_events(workload, scheduler, done):
        raise EngineError(
            f"{scheduler}: raw events were inferred wrongly of {wrong[0].batch} and {len(wrong) - 1} more"
        )
    return Phase(
        scheduler=scheduler,
        begin=begin,
        end=end,
        spans=there.watcher.spans(begin, end),
        latencies=latencies(workload, scheduler, sent, done),
        balances=balances(workload, scheduler, there.written()),
        history=there.history(begin),
    )


def _batches(
    there: Site, scheduler: str, workload: Workload, say: Callable[[str], None]
) -> tuple[dict[Key, float], dict[Key, Done]]:
    """Send batches at their times, and take what topologies say until all is done."""
    sent: dict[Key, float] = {}
    done: dict[Key, Done] = {}
    wanted, begin, number = expected(workload, scheduler), time.monotonic(), 0
    while number < workload.batches or wanted - done.keys():
        check()
        if number < workload.batches and time.monotonic() >= begin + number * workload.gap:
            sent |= there.broker.send(workload, scheduler, number)
            kind = "which makes raw events" if number in workload.eventful else "which makes none"
            say(f"{scheduler}: batch {number + 1} of {workload.batches} is sent, {kind}")
            number += 1
        for key, each in there.broker.listen(0.5):
            done.setdefault(key, each)
        if time.monotonic() > begin + workload.batches * workload.gap + PATIENCE:
            left = sorted({key.where for key in wanted - done.keys()})
            raise EngineError(f"{scheduler}: {', '.join(left)} had not done all that was sent after {PATIENCE:.0f} s")
    return sent, done

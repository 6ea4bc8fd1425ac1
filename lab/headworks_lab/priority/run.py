"""The run of the demo: the same batches under one scheduler after another, while triggers come and nodes change."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import attrs

from headworks.errors import EngineError
from headworks.interrupts import raise_pending
from headworks_lab.priority.latency import (
    Done,
    Key,
    Latencies,
    balances,
    expected,
    latencies,
    wrong_events,
)
from headworks_lab.priority.phases import PATIENCE, BasePhase, settled_run, under_each
from headworks_lab.priority.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from headworks.plugins.host import PluginHost
    from headworks_lab.priority.site.site import Site


@attrs.frozen(kw_only=True)
class Phase(BasePhase):
    """The batches under one scheduler, and what became of them.

    Attributes:
        latencies: Latency of complex events and of tuples.
    """

    latencies: Latencies


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
    phases, seconds = under_each(
        host, schedulers, workload, folder, say, lambda there, scheduler: _phase(there, scheduler, workload, say)
    )
    return PriorityDemoResult(workload=workload, phases=phases, seconds=seconds)


def _phase(there: Site, scheduler: str, workload: Workload, say: Callable[[str], None]) -> Phase:
    (sent, done), begin, end = settled_run(there, scheduler, say, lambda: _batches(there, scheduler, workload, say))
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
    say(f"{scheduler}: {workload.batches} batches begin")
    sent: dict[Key, float] = {}
    done: dict[Key, Done] = {}
    wanted, begin, number = expected(workload, scheduler), time.monotonic(), 0
    while number < workload.batches or wanted - done.keys():
        raise_pending()
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

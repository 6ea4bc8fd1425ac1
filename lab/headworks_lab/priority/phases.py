"""Common part of the runs of both use cases: the same tuples under one scheduler after another."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from headworks.model import FrozenMap
from headworks_lab.priority.latency import Balance
from headworks_lab.priority.site.holding import Span
from headworks_lab.priority.site.site import Site, site, wait
from headworks_lab.priority.steps import changes, moments

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from headworks.plugins.host import PluginHost
    from headworks_lab.priority.feeds.feeds import FeedWorkload
    from headworks_lab.priority.workload import Workload

PATIENCE = 600.0
"""Seconds that topologies may take to do all that was sent. With fewer, a busy machine fails the demo."""

T = TypeVar("T")


@attrs.frozen(kw_only=True)
class BasePhase:
    """The tuples under one scheduler, and what became of them.

    Attributes:
        scheduler: Its name.
        begin: Seconds since 1970 at which the first was sent. `end`: when nodes were back and all was done.
        spans: Who held which node when.
        balances: Tuples in and out, by topology.
        history: Rows of the manager's history of all topologies meanwhile, by number.
    """

    scheduler: str
    begin: float
    end: float
    spans: tuple[Span, ...]
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


def under_each(
    host: PluginHost,
    schedulers: Sequence[str],
    workload: Workload | FeedWorkload,
    folder: Path,
    say: Callable[[str], None],
    phase: Callable[[Site, str], T],
) -> tuple[tuple[T, ...], float]:
    """Start all that a use case needs, and run a phase under each scheduler; every process ends with it.

    Args:
        host: The plugins.
        schedulers: Names of schedulers, in order.
        workload: Parameters.
        folder: Scratch space.
        say: Takes progress messages.
        phase: Runs one, given all that runs and the scheduler.

    Returns:
        The phases, and the seconds of all of it.

    Raises:
        EngineError: Something does not start, or what was sent was not done in time.
    """
    begin = time.monotonic()
    with site(host, workload.case, folder, say) as there:
        say(f"all of it is up; submitting {', '.join(each.name for each in workload.case.members)}")
        there.run_topologies(workload, folder)
        phases = tuple(phase(there, scheduler) for scheduler in schedulers)
        say("ending the cluster")
    return phases, time.monotonic() - begin


def settled_run(
    there: Site, scheduler: str, say: Callable[[str], None], send: Callable[[], T]
) -> tuple[T, float, float]:
    """Send tuples once the nodes are dealt under a scheduler, and wait until they are back where they were.

    Args:
        there: All that runs.
        scheduler: Its name.
        say: Takes progress messages.
        send: Sends them, and takes what is done until all is.

    Returns:
        What was sent and done, and the seconds since 1970 at its begin and when nodes were back.
    """
    with there.rounds(scheduler) as rounds:
        there.settle(rounds, scheduler, say)
        begin = time.time()
        found = send()
        wait("the nodes to come back", lambda: there.settled(rounds), PATIENCE)
        return found, begin, time.time()

"""The intake of a Storm cluster: spouts paused and resumed through Nimbus; tuples under way by workers' reports."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import attrs

from headworks_storm.client.connection import NimbusConnection
from headworks_storm.nimbus.rounds import Rounds
from headworks_storm.workers.backlog import Pause, backlog, in_place
from headworks_storm.workers.collector import Collector
from headworks_storm.workers.reports import steady
from headworks_storm.workers.watch import FRESH

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headworks.model import Backlog
    from headworks_storm.client.summary import TopologySummary

ACTIVE, INACTIVE = "ACTIVE", "INACTIVE"
"""Status of topologies whose spouts may emit, and of those whose spouts pause; one that is killed has another."""
POLL = "task.refresh.poll.secs"
"""Setting of workers: seconds between two looks at the status of their topology."""
SLOWEST = 10.0
"""Storm's own `task.refresh.poll.secs`, where Nimbus does not say, and the seconds that a worker may be late."""
SEEN = 2.0
"""Seconds that a topology stays active beyond the time in which all its workers look. A worker that has started while
it paused makes its bolts ready when it sees it active; with less, one that does not see that keeps what others send to
it, and the topology does not get empty."""


@attrs.define(eq=False)
class StormIntake:
    """The intake of the cluster whose Nimbus asks this process.

    Attributes:
        cluster: Name of the cluster in the manager's database.
        rounds: Rounds of Nimbus, which know the executors of topologies.
        collector: Takes the reports of workers.
        nimbus: Reaches Nimbus.
        clock: Seconds since 1970, as the collector has them.
        sleep: Waits for so many seconds.
    """

    cluster: str
    rounds: Rounds
    collector: Collector
    nimbus: NimbusConnection
    clock: Callable[[], float] = steady
    sleep: Callable[[float], None] = time.sleep
    _paused: dict[str, Pause] = attrs.field(init=False, factory=dict)
    _resumed: dict[str, float] = attrs.field(init=False, factory=dict)
    _began: float = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        """Take note of the time: an earlier process may have resumed topologies just before."""
        self._began = self.clock()

    def backlog(self, topologies: Sequence[str]) -> Mapping[str, Backlog]:
        """Tuples under way by topology id; topologies that are gone, or being killed, are left out.

        Args:
            topologies: Their ids.

        Raises:
            EngineError: Nimbus does not answer, or asks no more.
        """
        status = {name: each.status for name, each in self._topologies().items()}
        snapshot = self.rounds.latest(FRESH)
        reports = in_place(self.collector.recent(FRESH), snapshot)
        scheduled = {each.topology.id: each for each in snapshot.scheduled}
        found = {}
        for name in topologies:
            if name in scheduled and status.get(name) in (ACTIVE, INACTIVE):
                active = status[name] == ACTIVE
                pause = self._pause_of(name, active=active)
                found[name] = backlog(scheduled[name], reports, active=active, pause=pause)
        return found

    def _pause_of(self, topology: str, *, active: bool) -> Pause:
        """Its pause; one that somebody else paused may have been just now."""
        if active:
            self._paused.pop(topology, None)
            return Pause()
        return self._paused.setdefault(topology, self._pause_now(SLOWEST))

    def _pause_now(self, poll: float) -> Pause:
        return Pause(begin=self.clock(), certain=self.clock() + poll + SLOWEST)

    def pause(self, topology: str) -> None:
        """Deactivate a topology, once its workers have had the time to see that it was active.

        Args:
            topology: Its id.

        Raises:
            EngineError: Nimbus does not answer, or refuses.
        """
        with self.nimbus.use() as nimbus:
            poll = float(nimbus.nimbus_conf().get(POLL, SLOWEST))
        found = self._topologies().get(topology)
        if found is not None and found.status == ACTIVE:
            self.sleep(max(0.0, self._resumed.get(topology, self._began) + poll + SEEN - self.clock()))
            with self.nimbus.use() as nimbus:
                nimbus.deactivate(found.name)
        self._paused[topology] = self._pause_now(poll)

    def resume(self, topology: str) -> None:
        """Activate a topology.

        Args:
            topology: Its id.

        Raises:
            EngineError: Nimbus does not answer, or refuses.
        """
        self._paused.pop(topology, None)
        found = self._topologies().get(topology)
        if found is not None and found.status == INACTIVE:
            with self.nimbus.use() as nimbus:
                nimbus.activate(found.name)
            self._resumed[topology] = self.clock()

    def _topologies(self) -> dict[str, TopologySummary]:
        with self.nimbus.use() as nimbus:
            return {each.id: each for each in nimbus.cluster().topologies}

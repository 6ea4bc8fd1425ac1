"""The handle of a Storm cluster, which monitor and executor are given as `target`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import attrs

from headgate.model import Intake
from headgate_storm.nimbus.rounds import Rounds

if TYPE_CHECKING:
    from collections.abc import Collection

    from headgate.model import FrozenMap, Metrics, Slot
    from headgate_storm.nimbus.snapshot import Snapshot
    from headgate_storm.workers.measures import Life


class Watch(Protocol):
    """Monitor of the workers of a cluster, beside Nimbus: it sees processes where Nimbus knows only slots."""

    def measure(self, snapshot: Snapshot, window: float) -> Metrics:
        """Measure executors for a window of time; returns after it.

        Args:
            snapshot: The round of Nimbus that names them.
            window: Seconds to watch.
        """

    def lives(self, snapshot: Snapshot) -> FrozenMap[Life, Slot]:
        """The worker processes that are seen now, each with its slot."""

    def alive(self, snapshot: Snapshot, *, past: Collection[Life] = ()) -> FrozenMap[str, Slot]:
        """Slots in which executors are seen to be alive now, by task id; those that nobody sees are left out.

        Args:
            snapshot: The round of Nimbus that names them.
            past: Processes that were to end: what they say does not count.
        """

    def reported(self, snapshot: Snapshot) -> frozenset[str]:
        """Task ids that were reported at any time that is remembered: of them, silence means something.

        Args:
            snapshot: The round of Nimbus that names them.
        """


FIRST = 90.0
"""Seconds that the first round of Nimbus is waited for: it may be starting. With less, a loop begins with errors."""


@attrs.frozen(kw_only=True, eq=False)
class StormTarget:
    """A cluster whose Nimbus asks this process.

    Attributes:
        rounds: The scheduling rounds of Nimbus, by which it is read and told.
        watch: The monitor of workers; None believes Nimbus and measures nothing.
        patience: Seconds that a plan may take to be stored by Nimbus, and again to be alive. With less, a plan fails
            where workers are slow to start; with more, a failure is noticed later. None is what Nimbus's own settings
            give them (`Timing`).
        intake: Pauses and resumes topologies; None cannot.
    """

    rounds: Rounds
    watch: Watch | None = None
    patience: float | None = None
    intake: Intake | None = None

    def latest(self) -> Snapshot:
        """The newest round of Nimbus; the first one is waited for.

        Raises:
            EngineError: Nimbus has never asked, or asks no more.
        """
        return self.rounds.latest(FIRST if self.patience is None else self.patience)

    def storing(self, snapshot: Snapshot) -> float:
        """Seconds that a plan may take to be stored."""
        return snapshot.timing.storing if self.patience is None else self.patience

    def starting(self, snapshot: Snapshot) -> float:
        """Seconds that workers may take to start."""
        return snapshot.timing.starting if self.patience is None else self.patience

"""The handle of a Storm cluster, which monitor and executor are given as `target`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import attrs

from headworks.errors import EngineError
from headworks.model import Intake
from headworks_storm.nimbus.rounds import Rounds
from headworks_storm.seats.plan import Seats
from headworks_storm.seats.seat import SeatState
from headworks_storm.seats.view import logical_snapshot

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from headworks.model import FrozenMap, Metrics, Slot
    from headworks_storm.nimbus.seating import Seating
    from headworks_storm.nimbus.snapshot import Snapshot
    from headworks_storm.workers.measures import Life
    from headworks_storm.workers.routes import Routing


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

    def routing(self, snapshot: Snapshot) -> FrozenMap[Life, Routing]:
        """Destinations of the worker processes that are seen now: the places that Nimbus assigns, or former ones.

        Args:
            snapshot: The newest round of Nimbus.
        """

    def reported(self, snapshot: Snapshot) -> frozenset[str]:
        """Task ids that were reported at any time that is remembered: of them, silence means something.

        Args:
            snapshot: The round of Nimbus that names them.
        """


FIRST = 90.0
"""Seconds that the first round of Nimbus is waited for: it may be starting."""


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
        seats: Moves tasks that have seats; without it they stay where they are.
    """

    rounds: Rounds
    watch: Watch | None = None
    patience: float | None = None
    intake: Intake | None = None
    seats: Seats | None = None

    def latest(self) -> Snapshot:
        """The newest round of Nimbus; the first one is waited for.

        Raises:
            EngineError: Nimbus has never asked, or asks no more.
        """
        return self.rounds.latest(FIRST if self.patience is None else self.patience)

    def seated(self, snapshot: Snapshot) -> tuple[Snapshot, tuple[str, ...]]:
        """A round with tasks in place of their seats where it is known in which they live; else a sentence."""
        found: dict[str, SeatState] = {}
        notes = []
        for each in snapshot.scheduled:
            if each.seating is None or not each.assignment:
                continue
            try:
                found[each.topology.id] = self._state(each.topology.id, each.seating)
            except EngineError as error:
                notes.append(f"tasks of {each.name} stay in their seats: {error}")
        owners = {topology: each.owners for topology, each in found.items()}
        working = {topology: each.working for topology, each in found.items()}
        return logical_snapshot(snapshot, owners, working), tuple(notes)

    def _state(self, topology: str, seating: Seating) -> SeatState:
        """Seats in which tasks live and how many work, by the model's names of components."""
        if self.seats is None:
            raise EngineError("give --home, by whose settings Nimbus and ZooKeeper are reached")
        told = self.seats.state(topology)
        owners = {part: told.owners[own] for part, own in seating.ids.items() if own in told.owners}
        if any(len(owners.get(part, ())) != count for part, count in seating.tasks.items()):
            raise EngineError("the ledger does not say of all where they live")
        working = {part: told.working[own] for part, own in seating.ids.items() if own in told.working}
        return SeatState(owners=owners, working=working)

    def storing(self, snapshot: Snapshot) -> float:
        """Seconds that a plan may take to be stored."""
        return snapshot.timing.storing if self.patience is None else self.patience

    def starting(self, snapshot: Snapshot, tasks: Iterable[str]) -> float:
        """Seconds that the workers of some executors may take to start.

        Args:
            tasks: Their task ids.
        """
        return snapshot.starting(tasks) if self.patience is None else self.patience

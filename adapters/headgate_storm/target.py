"""The handle of a Storm cluster, which monitor and executor are given as `target`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import attrs

from headgate_storm.nimbus.rounds import Rounds

if TYPE_CHECKING:
    from collections.abc import Collection

    from headgate.model import FrozenMap, Metrics, Slot
    from headgate_storm.nimbus.snapshot import Snapshot
    from headgate_storm.workers.measures import Life


class Watch(Protocol):
    """Who looks at workers."""

    def measure(self, snapshot: Snapshot, window: float) -> Metrics:
        """What executors did in the next `window` seconds; returns after them."""

    def lives(self, snapshot: Snapshot) -> FrozenMap[Life, Slot]:
        """The worker processes that are seen now, each with its slot."""

    def alive(self, snapshot: Snapshot, *, past: Collection[Life] = ()) -> FrozenMap[str, Slot]:
        """Where executors are seen to be alive now, by task id; those that nobody sees are left out.

        What a process of the `past` said does not count: it was to end.
        """


@attrs.frozen(kw_only=True, eq=False)
class StormTarget:
    """A cluster whose Nimbus asks this process.

    Attributes:
        rounds: What Nimbus asks and is answered.
        watch: What looks at workers; None believes Nimbus and measures nothing.
        patience: Seconds that a plan may take to be stored by Nimbus, and again to be alive.
    """

    rounds: Rounds
    watch: Watch | None = None
    patience: float = 90.0

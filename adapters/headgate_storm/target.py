"""The handle of a Storm cluster, which monitor and executor are given as `target`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import attrs

from headgate_storm.rounds import Rounds

if TYPE_CHECKING:
    from headgate.model import FrozenMap, Metrics, Slot
    from headgate_storm.snapshot import Snapshot


class Watch(Protocol):
    """Who looks at workers."""

    def measure(self, snapshot: Snapshot, window: float) -> Metrics:
        """What executors did in the next `window` seconds; returns after them."""

    def alive(self, snapshot: Snapshot) -> FrozenMap[str, Slot]:
        """Where executors are seen to be alive now, by task id; those that nobody sees are left out."""


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

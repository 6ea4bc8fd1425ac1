"""Known tasks: what the recorded states of the engine say that there was, and since when."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from typing import TYPE_CHECKING

import attrs

from headworks.model import FrozenMap

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from headworks.model import Observation, Topology

LATE = timedelta(minutes=10)
"""Time by which a state may be recorded later than it came true."""


@attrs.frozen(kw_only=True)
class KnownTasks:
    """Topologies and tasks by id in the recorded states of the engine, each with the first hour in which it was there.

    Tasks of a topology that no state has described by then are believed.
    """

    topologies: FrozenMap[str, str] = FrozenMap()
    tasks: FrozenMap[str, str] = FrozenMap()

    @classmethod
    def of(cls, states: Sequence[tuple[datetime, Observation]]) -> KnownTasks:
        """All that was ever there; `states` are the oldest first."""
        # Nothing is forgotten: a task that is gone now was true in the hours that may be made again.
        topologies: dict[str, str] = {}
        tasks: dict[str, str] = {}
        seen: set[Topology] = set()
        for moment, state in states:
            hour = f"{moment - LATE:%Y-%m-%dT%H}"
            for topology in (each for each in state.topologies if each not in seen):
                seen.add(topology)
                topologies.setdefault(topology.id, hour)
                for task in topology.tasks():
                    tasks.setdefault(task.id, hour)
        return cls(topologies=FrozenMap(topologies), tasks=FrozenMap(tasks))

    def digest(self, hour: str) -> str:
        """SHA-256 of all names that are known in an hour, "" if none is: with another one, the hour is made again."""
        names = sorted(
            name for known in (self.topologies, self.tasks) for name, since in known.items() if since <= hour
        )
        return hashlib.sha256("\n".join(names).encode()).hexdigest() if names else ""

"""The intake of topologies: what a priority manager closes and opens while it gives nodes to others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, Protocol, runtime_checkable

import attrs

from headworks.model.cluster import Slot
from headworks.model.plan import Receipt
from headworks.model.values import FrozenMap

Undrained = Literal["wait", "keep", "force"]
"""Choices for a topology that is not empty in time: wait on, keep the old allocation, or move its tasks anyway."""


@attrs.frozen(kw_only=True)
class Backlog:
    """Tuples of a topology that are under way.

    Attributes:
        active: Whether its sources may emit.
        tuples: Number of tuples that were emitted and are not done; 0 once it is empty, None if not yet known.
        why: Origin of the number, or the reason why there is none, in words.
    """

    active: bool
    tuples: int | None = None
    why: str = ""


@runtime_checkable
class Intake(Protocol):
    """The sources of the topologies on a cluster; every method raises `EngineError` where the engine cannot say."""

    @property
    def cluster(self) -> str:
        """Name of the cluster: the same after a restart of this process, another one for another cluster."""

    def backlog(self, topologies: Sequence[str]) -> Mapping[str, Backlog]:
        """Tuples under way by topology id; topologies that are gone are left out."""

    def pause(self, topology: str) -> None:
        """Let the sources of a topology emit nothing more; without effect on one that pauses, or is gone."""

    def resume(self, topology: str) -> None:
        """Let the sources of a topology emit; without effect on one that is active, or gone."""


@attrs.frozen
class Drain:
    """Patience with topologies that are paused: seconds until they are empty, and what follows if they are not."""

    seconds: float
    undrained: Undrained = "keep"


@attrs.frozen(kw_only=True, eq=False)
class Steering:
    """Means by which a change steers an engine.

    Attributes:
        intake: Pauses topologies, resumes them, and says what is under way.
        rollback: Restores the assignment that a receipt's `undo` holds; without effect where nothing changed.
    """

    intake: Intake
    rollback: Callable[[Receipt], Receipt]


@attrs.frozen(kw_only=True, eq=False)
class Change:
    """A change of the assignment that is to be carried out while its topologies are empty.

    Attributes:
        topologies: Ids of the topologies whose running tasks it moves, without those whose tasks move live.
        before: Slots before it of all tasks of the topologies that it changes, those that move live too, by task id.
        execute: Carries it out; a step that fails is in the receipt.
    """

    topologies: tuple[str, ...]
    before: FrozenMap[str, Slot]
    execute: Callable[[], Receipt]

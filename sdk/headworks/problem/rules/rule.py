"""The seam of every rule beyond capacity: what it leaves open, what breaks it, and how that is repaired."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from headworks.model import Reason, Slot
    from headworks.problem.rules.worker_rules import WorkerNeeds

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]
    Cause = Callable[[int], str]
    """Says of a task why it was changed."""


class Tally(Protocol):
    """Tasks in their places, as far as a rule counts them; `free` is the capacity that is left, float64 (m, r)."""

    def open_to(self, task: int, free: Floats) -> Flags:
        """Nodes that the rule leaves open to one more task, bool (m,)."""

    def admits(self, task: int, node: int, free: Floats) -> bool:
        """Check whether the rule leaves a node open to one more task."""

    def left_for(self, task: int, node: int) -> int:
        """Number of tasks like this one that a node may take, once it admits the first."""

    def change(self, task: int, node: int, count: int = 1) -> None:
        """Tasks like this one come to a node, or go for a negative count."""

    def copy(self) -> Self:
        """The same counts, which change apart from these."""


class PlacementRule(Protocol):
    """One rule of a request; decisions are node indices of tasks, int64 (n,), -1 for a task without a node."""

    def tallies(self) -> tuple[Tally, ...]:
        """Counts with which a room begins; none where no node is ever closed."""

    def needs(self) -> tuple[WorkerNeeds, ...]:
        """Counts of the workers that the rule asks for; none where it asks for no more than heaps do."""

    def worsens(self, before: Ints, after: Ints) -> bool:
        """Check whether a change breaks the rule, or breaks it more; what a room refuses is not looked at."""

    def breaches(self, assignment: Mapping[str, Slot]) -> Iterable[Reason]:
        """Reasons why an assignment may not be carried out."""

    def obstacles(self, others: Mapping[str, Slot], task: int, slots: Sequence[Slot]) -> list[list[Reason]]:
        """Reasons why one task cannot be in each of some slots, all others being where they are."""

    def repair(self, node_of: Ints, left_out: Flags) -> Iterator[tuple[Ints, Cause]]:
        """The decision after each step that makes it keep the rule, and the cause of each change.

        Nobody looks for a node for tasks in `left_out`, bool (n,).
        """

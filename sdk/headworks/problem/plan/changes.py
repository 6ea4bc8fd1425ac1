"""Notes of what the core changes of a scheduler's decision: the tasks, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np

from headworks.model import Reason, Repair
from headworks.problem.arrays.constraints import binds

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from headworks.problem.arrays.arrays import Arrays
    from headworks.problem.rules.rule import Cause, Ints


class Changes:
    """Tasks whose node is changed step by step; of several steps the last one that changed a task says why."""

    def __init__(self, problem: Arrays, decided: Ints) -> None:
        self._problem, self._decided = problem, decided
        self._why: dict[int, str] = {}

    def fix(self, node_of: Ints) -> Ints:
        """The decision with fixed tasks where they are; -1 for one of them is no decision."""
        found = np.where(self._problem.fixed >= 0, self._problem.fixed, node_of)
        self._decided = np.where(node_of < 0, found, node_of)
        return self.note(self._decided, found, lambda _task: "it runs there and may not move")

    def note(self, before: Ints, after: Ints, cause: Cause) -> Ints:
        """Note each task whose node differs, and return where all are after it."""
        if after is not before:
            self._why.update((task, cause(task)) for task in np.flatnonzero(before != after).tolist())
        return after

    def exchange(self, node_of: Ints, taken: Ints) -> Ints:
        """Let equal tasks take each other's places, with what was noted of them: where all are after it.

        Args:
            node_of: Node index of each task, int64 (n,).
            taken: Task whose place each task takes, int64 (n,).
        """
        if (taken == np.arange(len(taken))).all():
            return node_of
        self._decided = self._decided[taken]
        self._why = {task: self._why[of] for task, of in enumerate(taken.tolist()) if of in self._why}
        return node_of[taken]

    def repairs(self, node_of: Ints) -> tuple[Repair, ...]:
        """Every task that is not where it was decided, by index."""
        return tuple(self._repairs(node_of))

    def reasons(self) -> tuple[Reason, ...]:
        """Reasons against a decision that has changed: fixed tasks that it moves."""
        found = self._repairs(np.where(self._problem.fixed >= 0, self._problem.fixed, self._decided))
        return tuple(
            Reason(code="fixed", subject=each.task, message=f"{each.task} runs on {each.target} and may not move")
            for each in found
        )

    def _repairs(self, node_of: Ints) -> Iterator[Repair]:
        names = (*self._problem.node_ids, None)
        for task in np.flatnonzero(node_of != self._decided).tolist():
            yield Repair(
                task=self._problem.task_ids[task],
                source=names[self._decided[task]],
                target=names[node_of[task]],
                why=self._why[task],
            )

    def slots(self, task: int) -> str:
        """Cause of changes for constraints within workers."""
        return f"constraints within workers leave it no slot: {self._within_workers(task)}"

    def stays(self, task: int) -> str:
        """Cause of changes that leave tasks where they run."""
        if self._problem.current[task] < 0:
            return "running tasks stay, as moves to the decision would break a constraint; this one goes to free room"
        return "it stays where it runs, as moves to the decision would break a constraint"

    def left(self, task: int) -> str:
        """Cause of changes that leave new tasks out."""
        return f"it is left, as no worker can hold it without breaking a constraint: {self._within_workers(task)}"

    def _within_workers(self, task: int) -> str:
        constraints, part = self._problem.constraints, int(self._problem.component[task])
        rules = constraints.workers or constraints.hard
        return "; ".join(str(rule.constraint) for rule in rules if binds(rule, part))


def followed(first: tuple[Repair, ...], then: tuple[Repair, ...], order: Mapping[str, int]) -> tuple[Repair, ...]:
    """Repairs of two plans, the second of which begins where the first one ends.

    Args:
        order: Index of each task, by id.
    """
    found = {each.task: each for each in first}
    for each in then:
        before = found.pop(each.task, each)
        if before.source != each.target:
            found[each.task] = attrs.evolve(each, source=before.source)
    return tuple(found[task] for task in sorted(found, key=order.__getitem__))

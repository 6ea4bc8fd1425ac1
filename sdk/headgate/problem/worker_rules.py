"""Hard constraints within workers: which tasks of a topology may share a process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headgate.model import ConstraintKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from headgate.problem.arrays import Arrays
    from headgate.problem.constraints import CountRule


class WorkerRules:
    """Hard constraints within workers, for the step from nodes to slots."""

    def __init__(self, problem: Arrays) -> None:
        constraints = problem.constraints
        self._rules: tuple[CountRule, ...] = () if constraints is None else constraints.workers
        self._component: list[int] = problem.component.tolist() if self._rules else []

    def __bool__(self) -> bool:
        return bool(self._rules)

    def allow(self, tasks: Sequence[int], task: int) -> bool:
        """Check whether a worker with some tasks may have one more.

        Args:
            tasks: Tasks in the worker.
            task: The other task.
        """
        part = self._component[task]
        return all(self._allows(rule, tasks, rule.group[part]) for rule in self._rules if rule.group[part] >= 0)

    def _allows(self, rule: CountRule, tasks: Iterable[int], group: int) -> bool:
        groups = [each for each in (rule.group[self._component[task]] for task in tasks) if each >= 0]
        if rule.kind is ConstraintKind.AT_MOST:
            return len(groups) < rule.limit
        return rule.kind is ConstraintKind.TOGETHER or all(each == group for each in groups)

    def sets(self, tasks: Iterable[int]) -> list[list[int]]:
        """Sets of some tasks that have to be in one worker each, those that share a task joined."""
        found: list[set[int]] = []
        for rule in self._rules:
            if rule.kind is not ConstraintKind.TOGETHER:
                continue
            members = {task for task in tasks if rule.group[self._component[task]] >= 0}
            joined = [each for each in found if each & members]
            found = [each for each in found if not each & members]
            found.append(members.union(*joined))
        return [sorted(each) for each in found if each]

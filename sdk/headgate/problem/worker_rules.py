"""Hard constraints within workers: which tasks of a topology may share a process."""

from __future__ import annotations

from collections import defaultdict
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
        self._known: dict[tuple[tuple[int, int], ...], int] = {}

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

    def numbers(self, tasks: Iterable[int]) -> dict[int, int]:
        """Workers by number of some tasks of one topology on one node, such that each worker keeps the rules."""
        colour = self._colours(frozenset(self._component[task] for task in tasks))
        chunk: dict[int, int] = {}
        seen: dict[tuple[int, int], int] = {}
        for task in sorted(tasks):
            part, number = self._component[task], 0
            for at, rule in enumerate(self._limits()):
                if rule.group[part] >= 0:
                    rank = seen[at, colour[part]] = seen.get((at, colour[part]), -1) + 1
                    number = max(number, rank // rule.limit)
            chunk[task] = number
        kinds = sorted({(colour[self._component[task]], chunk[task]) for task in tasks})
        index = {kind: at for at, kind in enumerate(kinds)}
        return {task: index[colour[self._component[task]], chunk[task]] for task in tasks}

    def needed(self, counts: tuple[tuple[int, int], ...]) -> int:
        """Number of workers that tasks of one topology take on one node.

        Args:
            counts: Component index and number of its tasks, by index.
        """
        if counts not in self._known:
            colour = self._colours(frozenset(part for part, _ in counts))
            most = dict.fromkeys(colour.values(), 1)
            for rule in self._limits():
                for each in most:
                    here = sum(count for part, count in counts if colour[part] == each and rule.group[part] >= 0)
                    most[each] = max(most[each], -(-here // rule.limit))
            self._known[counts] = sum(most.values())
        return self._known[counts]

    def _limits(self) -> tuple[CountRule, ...]:
        return tuple(rule for rule in self._rules if rule.kind is ConstraintKind.AT_MOST)

    def _colours(self, parts: frozenset[int]) -> dict[int, int]:
        """Colouring of components such that those that are apart differ, greedily by the number of conflicts."""
        apart = [rule.group for rule in self._rules if rule.kind is ConstraintKind.APART]
        foes = {one: {two for two in parts for group in apart if 0 <= group[one] != group[two] >= 0} for one in parts}
        found: dict[int, int] = {}
        for part in sorted(parts, key=lambda each: (-len(foes[each]), each)):
            taken = {found[foe] for foe in foes[part] if foe in found}
            found[part] = next(number for number in range(len(parts)) if number not in taken)
        return found

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


class WorkerNeeds:
    """Workers that constraints within them take on each node, as tasks come and go."""

    def __init__(self, problem: Arrays) -> None:
        self._rules = WorkerRules(problem)
        self._component: list[int] = problem.component.tolist()
        self._topology: list[int] = problem.topology.tolist()
        self._closed: list[bool] = problem.closed.tolist()
        self._left: list[int] = problem.slots.tolist()  # without those of closed workers
        self._on: dict[int, dict[int, dict[int, int]]] = defaultdict(lambda: defaultdict(dict))

    def change(self, task: int, node: int, count: int = 1) -> None:
        """Tasks like this one come to a node, or go for a negative count.

        Args:
            task: Index of the task.
            node: Index of the node.
            count: Number of tasks.
        """
        if self._closed[task]:
            return
        topology, part = self._topology[task], self._component[task]
        parts = self._on[node][topology]
        parts[part] = parts.get(part, 0) + count
        if not parts[part]:
            del parts[part]

    def admit(self, task: int, node: int) -> bool:
        """Check whether the slots of a node suffice with one more task, or it takes no further worker.

        Args:
            task: Index of the task.
            node: Index of the node.
        """
        topology, part = self._topology[task], self._component[task]
        here = self._on.get(node, {})
        before = {each: self._needed(parts) for each, parts in here.items() if parts}
        mine = dict(here.get(topology, {}))
        mine[part] = mine.get(part, 0) + 1
        further = self._needed(mine) - before.get(topology, 0)
        return further <= 0 or sum(before.values()) + further <= self._left[node]

    def _needed(self, parts: dict[int, int]) -> int:
        return self._rules.needed(tuple(sorted(parts.items())))

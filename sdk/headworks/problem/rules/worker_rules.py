"""Hard constraints within workers: which tasks of a topology may share a process."""

from __future__ import annotations

from collections import defaultdict
from copy import copy
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Self

import numpy as np

from headworks.model import ConstraintKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from headworks.problem.arrays.arrays import Arrays
    from headworks.problem.arrays.constraints import CountRule

UNKNOWN = -(2**31)
"""Nobody has asked yet how many workers more a task needs on a node; fewer than any task can need."""


class WorkerRules:
    """Hard constraints within workers, for the step from nodes to slots."""

    def __init__(self, problem: Arrays) -> None:
        self._rules: tuple[CountRule, ...] = problem.constraints.workers
        self._component: list[int] = problem.component.tolist() if self._rules else []
        parts = range(max(self._component, default=-1) + 1)
        self._of = [tuple(rule for rule in self._rules if rule.group[part] >= 0) for part in parts]
        self._needs: dict[tuple[tuple[int, int], ...], int] = {}
        self._colourings: dict[frozenset[int], dict[int, int]] = {}

    def __bool__(self) -> bool:
        return bool(self._rules)

    def allow(self, tasks: Sequence[int], task: int) -> bool:
        """Check whether a worker with some tasks may have one more."""
        part = self._component[task]
        return all(self._allows(rule, tasks, rule.group[part]) for rule in self._of[part])

    def _allows(self, rule: CountRule, tasks: Iterable[int], group: int) -> bool:
        groups = [each for each in (rule.group[self._component[task]] for task in tasks) if each >= 0]
        if rule.kind is ConstraintKind.AT_MOST:
            return len(groups) < rule.limit
        return rule.kind is ConstraintKind.TOGETHER or all(each == group for each in groups)

    def numbers(self, tasks: Iterable[int]) -> dict[int, int]:
        """Workers by number of some tasks of one topology on one node, such that each worker keeps the rules."""
        colour = self._colours(frozenset(self._component[task] for task in tasks))
        chunk: dict[int, int] = {}
        seen: dict[tuple[int, int], int] = {}  # tasks of a colour that a rule has counted
        for task in sorted(tasks):
            part, number = self._component[task], 0
            for rule in self._limits(part):
                rank = seen[id(rule), colour[part]] = seen.get((id(rule), colour[part]), -1) + 1
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
        if counts not in self._needs:
            colour = self._colours(frozenset(part for part, _ in counts))
            counted: dict[tuple[int, int], int] = defaultdict(int)
            most = dict.fromkeys(colour.values(), 1)
            for part, count in counts:
                for rule in self._limits(part):
                    here = counted[id(rule), colour[part]] = counted[id(rule), colour[part]] + count
                    most[colour[part]] = max(most[colour[part]], -(-here // rule.limit))
            self._needs[counts] = sum(most.values())
        return self._needs[counts]

    def _limits(self, part: int) -> tuple[CountRule, ...]:
        return tuple(rule for rule in self._of[part] if rule.kind is ConstraintKind.AT_MOST)

    def _colours(self, parts: frozenset[int]) -> dict[int, int]:
        """Colouring of components such that those that are apart differ, greedily by the number of conflicts."""
        if parts not in self._colourings:
            self._colourings[parts] = self._coloured(parts)
        return self._colourings[parts]

    def _coloured(self, parts: frozenset[int]) -> dict[int, int]:
        apart = {one: [rule.group for rule in self._of[one] if rule.kind is ConstraintKind.APART] for one in parts}
        foes = {one: {two for two in parts for group in apart[one] if group[one] != group[two] >= 0} for one in parts}
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
        self._left: NDArray[np.int64] = problem.slots.copy()  # after the needs of all, without closed workers
        self._on: dict[tuple[int, int], dict[int, int]] = defaultdict(dict)  # by topology and node, then component
        self._need: dict[tuple[int, int], int] = defaultdict(int)
        pairs = sorted(set(zip(self._topology, self._component, strict=True)))
        self._parts = {topology: [part for _, part in some] for topology, some in groupby(pairs, itemgetter(0))}
        # a topology that is not on a node yet takes one worker there
        self._further: NDArray[np.int64] = np.ones((max(self._component, default=-1) + 1, problem.m), dtype=np.int64)

    def copy(self) -> Self:
        """The same counts, which change apart from these."""
        other = copy(self)
        # the dictionaries within `_on` are replaced, never changed
        vars(other).update({name: vars(self)[name].copy() for name in ("_left", "_on", "_need", "_further")})
        return other

    def change(self, task: int, node: int, count: int = 1) -> None:
        """Tasks like this one come to a node, or go for a negative count."""
        if self._closed[task]:
            return
        place = self._topology[task], node
        parts = self._on[place] = self._with(task, node, count)
        needed = self._needed(parts)
        self._left[node] += self._need[place] - needed
        self._need[place] = needed
        self._further[self._parts[place[0]], node] = UNKNOWN

    def admit(self, task: int, node: int) -> bool:
        """Check whether the slots of a node suffice with one more task, or it takes no further worker."""
        row = self._further[self._component[task]]
        if row[node] == UNKNOWN:
            row[node] = self._needed(self._with(task, node, 1)) - self._need[self._topology[task], node]
        return bool(row[node] <= max(self._left[node], 0))

    def admit_all(self, task: int, nodes: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Those of some nodes that admit one more task, bool (m,).

        Args:
            nodes: The nodes that are asked, bool (m,).
        """
        row = self._further[self._component[task]]
        for node in np.flatnonzero(nodes & (row == UNKNOWN)).tolist():
            self.admit(task, node)
        found: NDArray[np.bool_] = nodes & (row <= np.maximum(self._left, 0))
        return found

    def _with(self, task: int, node: int, count: int) -> dict[int, int]:
        """Tasks by component of the task's topology on a node, with some more like it."""
        part, parts = self._component[task], dict(self._on[self._topology[task], node])
        parts[part] = parts.get(part, 0) + count
        return {each: number for each, number in parts.items() if number}

    def _needed(self, parts: dict[int, int]) -> int:
        return self._rules.needed(tuple(sorted(parts.items())))

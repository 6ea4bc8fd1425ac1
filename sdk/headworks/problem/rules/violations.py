"""Placement constraints that an assignment breaks: new breaches of hard ones, and the weight of soft ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headworks.model import ConstraintKind, FrozenMap, Reason, Scope
from headworks.problem.arrays.constraints import CountRule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from headworks.model import Slot
    from headworks.problem.arrays.arrays import Arrays
    from headworks.problem.arrays.constraints import LabelRule

    Ints = NDArray[np.int64]


def new_breaches(problem: Arrays, assignment: Mapping[str, Slot]) -> Iterator[Reason]:
    """Hard constraints that an assignment breaks and the running one does not, a reason each.

    What ran before and broke a constraint may stay. A domain that breaks one takes no further task of it, and tasks
    that have to be together come to no domain that has none of them.
    """
    places = _Places(problem, problem.node_of(FrozenMap(assignment)), assignment)
    for label in problem.constraints.labels:
        yield from _strays(problem, label, places)
    for rule in dict.fromkeys((*problem.constraints.counted, *problem.constraints.workers)):
        yield from _crowds(problem, rule, places)


def breaks_on_nodes(problem: Arrays, node_of: NDArray[np.int64], *, fresh: bool = False) -> bool:
    """Check whether a decision on nodes breaks a hard constraint that the running assignment keeps there.

    Args:
        fresh: Whether to count what the running assignment breaks as well.
    """
    places = _Places(problem, node_of, None, fresh=fresh)
    found = [each for label in problem.constraints.labels for each in _strays(problem, label, places)]
    return bool(found) or any(_crowds(problem, rule, places) for rule in problem.constraints.counted)


def broken_on_nodes(problem: Arrays, node_of: NDArray[np.int64], *, hard: bool) -> list[LabelRule | CountRule]:
    """Hard or soft constraints that a decision on nodes breaks, whatever runs."""
    every, places = problem.constraints, _Places(problem, node_of, None, fresh=True)
    rules: tuple[LabelRule | CountRule, ...] = (*every.labels, *every.counted) if hard else every.soft
    return [rule for rule in rules if _count(rule, places)]


def breaches_by(problem: Arrays, assignment: Mapping[str, Slot], task: int, slots: Sequence[Slot]) -> list[list[str]]:
    """Hard constraints that one task would newly break in each of some slots, as `new_breaches` sees them.

    Args:
        assignment: Slot of each other task, by task id.

    Returns:
        The constraints in words, for each slot.
    """
    found: list[list[str]] = [[] for _ in slots]
    if not slots:
        return found
    part, places = int(problem.component[task]), _Places(problem, problem.node_of(FrozenMap(assignment)), assignment)
    node = np.array([problem.node_index[slot.node] for slot in slots], dtype=np.int64)
    broken: list[tuple[LabelRule | CountRule, NDArray[np.bool_]]] = [
        (rule, ~rule.nodes[node] & (node != places.ran[task]))
        for rule in problem.constraints.labels
        if rule.member[part]
    ]
    broken += [
        (rule, _crowded(problem, rule, places, task, slots))
        for rule in dict.fromkeys((*problem.constraints.counted, *problem.constraints.workers))
        if rule.group[part] >= 0
    ]
    for rule, bad in broken:
        for at in np.flatnonzero(bad).tolist():
            found[at].append(f"{rule.topology}: {rule.constraint}")
    return [list(dict.fromkeys(each)) for each in found]


def _crowded(problem: Arrays, rule: CountRule, places: _Places, task: int, slots: Sequence[Slot]) -> NDArray[np.bool_]:
    """Slots in which one more task breaks a rule, bool (k,); where it ran only if another is new in the domain."""
    _, domain, group, before, names = places.of(rule)
    if places.by_worker(rule):
        known, ran = {name: at for at, name in enumerate(names)}, int(places.workers()[1][task])
        goes = np.array([known.get(str(slot), len(names)) for slot in slots], dtype=np.int64)
    else:
        goes = rule.domain[[problem.node_index[slot.node] for slot in slots]]
        ran = int(rule.domain[places.ran[task]]) if places.ran[task] >= 0 else -1
    if rule.kind is ConstraintKind.TOGETHER:
        used, there = set(domain.tolist()), set(_before_all(problem, rule, places).tolist())
        return np.array([len(used | {each}) > 1 and not used | {each} <= there for each in goes.tolist()], dtype=bool)
    size = len(names) + 1  # the last one is a worker that nobody has yet
    count, mine = np.bincount(domain, minlength=size), rule.group[int(problem.component[task])]
    alike = np.bincount(domain[group == mine], minlength=size)
    bad = count + 1 > rule.limit if rule.kind is ConstraintKind.AT_MOST else count > alike
    fresh = np.bincount(domain[before != domain], minlength=size) > 0
    found: NDArray[np.bool_] = bad[goes] & (fresh[goes] | (goes != ran))
    return found


def breaches(problem: Arrays, assignment: Mapping[str, Slot]) -> Iterator[tuple[LabelRule | CountRule, int]]:
    """Every constraint, the hard ones first, with the number of tasks that would have to be elsewhere for it."""
    constraints = problem.constraints
    places = _Places(problem, problem.node_of(FrozenMap(assignment)), assignment)
    for rule in (*constraints.hard, *constraints.soft):
        yield rule, _count(rule, places)


def penalty(problem: Arrays, assignment: Mapping[str, Slot]) -> float:
    """Weight of the soft constraints that an assignment breaks: of each its weight, times the tasks that break it."""
    if not problem.constraints.soft:
        return 0.0
    counts = breaches(problem, assignment)
    return float(sum(rule.constraint.weight * count for rule, count in counts if not rule.constraint.is_hard))


class _Places:
    """Places of all tasks, now and before, by node and, where an assignment is given, by worker."""

    def __init__(
        self, problem: Arrays, node_of: Ints, assignment: Mapping[str, Slot] | None, *, fresh: bool = False
    ) -> None:
        self._problem, self.node, self._assignment = problem, node_of, assignment
        self.ran: Ints = np.full(problem.n, -1) if fresh else problem.current
        self._slots: tuple[Ints, Ints, list[str]] | None = None

    def members(self, member: NDArray[np.bool_]) -> Ints:
        """Indices of the placed tasks of some components."""
        return np.flatnonzero((self.node >= 0) & member[self._problem.component])

    def by_worker(self, rule: CountRule) -> bool:
        """Check whether the domains of a rule are workers here."""
        return rule.constraint.scope is Scope.WORKER and self._assignment is not None

    def of(self, rule: CountRule) -> tuple[Ints, Ints, Ints, Ints, list[str]]:
        """Placed members, their domain and group, the domain in which they ran, and the names of the domains."""
        groups = np.array(rule.group, dtype=np.int64)
        tasks = self.members(groups >= 0)
        group = groups[self._problem.component[tasks]]
        if self.by_worker(rule):
            now, before, names = self.workers()
            return tasks, now[tasks], group, before[tasks], names
        current = self.ran[tasks]
        before = np.where(current >= 0, rule.domain[current], -1)
        return tasks, rule.domain[self.node[tasks]], group, before, list(rule.names)

    def workers(self) -> tuple[Ints, Ints, list[str]]:
        """Number of each task's worker, of the one in which it ran, and the names of all; -1 for none."""
        if self._slots is None:
            problem, numbers, placed = self._problem, dict[str, int](), self._assignment or {}
            ran, ids = problem.request.assignment, problem.task_ids

            def number(slot: Slot | None) -> int:
                return -1 if slot is None else numbers.setdefault(str(slot), len(numbers))

            now = [number(placed.get(task)) for task in ids]
            before = [
                number(ran[task] if node >= 0 else None)
                for task, node in zip(ids, problem.current.tolist(), strict=True)
            ]
            self._slots = np.array(now, dtype=np.int64), np.array(before, dtype=np.int64), list(numbers)
        return self._slots


def _strays(problem: Arrays, rule: LabelRule, places: _Places) -> Iterable[Reason]:
    tasks = places.members(rule.member)
    node = places.node[tasks]
    wrong = tasks[~rule.nodes[node] & (places.ran[tasks] != node)]
    if len(wrong):
        task, where = problem.task_ids[int(wrong[0])], problem.node_ids[int(places.node[wrong[0]])]
        more = f", and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        message = f"{rule.topology}: {rule.constraint}, but {task} would be on {where}{more}"
        yield Reason(code="constraint", subject=rule.topology, message=message)


def _crowds(problem: Arrays, rule: CountRule, places: _Places) -> list[Reason]:
    tasks, domain, group, before, names = places.of(rule)
    if rule.kind is ConstraintKind.TOGETHER:
        used = set(domain.tolist())
        # split before: the set of domains may shrink, and grow by none
        if len(used) > 1 and not used <= set(_before_all(problem, rule, places).tolist()):
            message = f"{rule.topology}: {rule.constraint}, but its tasks would be in {len(used)} of them"
            return [Reason(code="constraint", subject=rule.topology, message=message, need=1, have=len(used))]
        return []
    count = np.bincount(domain, minlength=len(names))
    bad = count > rule.limit if rule.kind is ConstraintKind.AT_MOST else _groups(domain, group, len(names)) > 1
    fresh = bad[domain] & (before != domain)
    found = []
    for each in np.unique(domain[fresh]).tolist():
        first = problem.task_ids[int(tasks[fresh & (domain == each)][0])]
        held = f"{rule.constraint.scope} {names[each]!r} would hold {count[each]} of them, {first} among them"
        message = f"{rule.topology}: {rule.constraint}, but {held}"
        have = float(rule.limit) if rule.kind is ConstraintKind.AT_MOST else None
        found.append(
            Reason(code="constraint", subject=rule.topology, message=message, need=float(count[each]), have=have)
        )
    return found


def _before_all(problem: Arrays, rule: CountRule, places: _Places) -> Ints:
    """Domains in which members ran before, those that are placed no more included."""
    member = np.array(rule.group, dtype=np.int64)[problem.component] >= 0
    ran = np.flatnonzero(member & (places.ran >= 0))
    if places.by_worker(rule):
        return places.workers()[1][ran]
    return rule.domain[places.ran[ran]]


def _groups(domain: Ints, group: Ints, domains: int) -> Ints:
    """Number of different groups in each domain."""
    pairs = np.unique(np.stack([domain, group]), axis=1)
    return np.bincount(pairs[0], minlength=domains)


def _count(rule: LabelRule | CountRule, places: _Places) -> int:
    """Number of tasks that would have to be elsewhere for a constraint."""
    if isinstance(rule, CountRule):
        return _misplaced(rule, *places.of(rule)[1:3])
    return int((~rule.nodes[places.node[places.members(rule.member)]]).sum())


def _misplaced(rule: CountRule, domain: Ints, group: Ints) -> int:
    """Tasks that would have to leave their domain for a constraint to be kept, at least."""
    if not len(domain):
        return 0
    table = np.zeros((int(domain.max()) + 1, rule.groups), dtype=np.int64)
    np.add.at(table, (domain, group), 1)
    count = table.sum(axis=1)
    match rule.kind:
        case ConstraintKind.AT_MOST:
            return int(np.maximum(count - rule.limit, 0).sum())
        case ConstraintKind.APART:
            return int((count - table.max(axis=1)).sum())
        case _:
            return int(count.sum() - count.max())

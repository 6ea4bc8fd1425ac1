"""Instance counts: the joint choice of the number of tasks of each profiled component and of their nodes."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import attrs
import numpy as np
from numpy.typing import NDArray

from headworks.model import NO_PROFILES, Constraint, ConstraintKind, FrozenMap, Reason, Request, Status
from headworks.model.scaling import with_instances
from headworks.model.validate import MAX_TASKS
from headworks.problem import Problem
from headworks.problem.arrays.profiles import FULL, OVER, Profiled, counts_of, unprofiled_load

if TYPE_CHECKING:
    from headworks.model import Plan
    from headworks.problem.room.room import Room


@attrs.frozen(eq=False, kw_only=True)
class InstanceCounts:
    """Choice of instance counts for K profiled components on m nodes, after tasks without profiles are placed.

    Attributes:
        request: What was asked.
        profiled: The profiles of these components (its arrays have K rows).
        parts: Index of each component in `Problem.components`, length K.
        free: float64 (m,), percent of each node that tasks without profiles leave.
        need: float64 (K, q), what one task takes of q further resources: memory, any other, and the heap of a worker
            for each topology that limits it (one worker a node is used).
        room: float64 (m, q), what each node has left of them.
        topology: int64 (K,), index of each component's topology.
        slots: int64 (m,), slots left on each node.
        present: bool (t, m), topologies that have a worker on the node already.
        floor: int64 (K, m), tasks that may not move.
        given: int64 (K,), numbers of tasks in the request.
        least: int64 (K,), fewest tasks that each can have while it runs. `most`: the most.
    """

    request: Request
    profiled: Profiled
    parts: NDArray[np.int64]
    free: NDArray[np.float64]
    need: NDArray[np.float64]
    room: NDArray[np.float64]
    topology: NDArray[np.int64]
    slots: NDArray[np.int64]
    present: NDArray[np.bool_]
    floor: NDArray[np.int64]
    given: NDArray[np.int64]
    least: NDArray[np.int64]
    most: NDArray[np.int64]
    _problem: Problem
    _node_of: NDArray[np.int64]

    @classmethod
    def of(cls, request: Request) -> InstanceCounts:
        """Take a valid request apart; K is 0 where nothing has a profile."""
        problem = Problem.of(with_instances(request, {}, priced=True))
        profiled = Profiled.of(request)
        width = np.bincount(problem.component, minlength=len(problem.components))
        parts = np.flatnonzero(profiled.covered & (width > 0))
        mine = np.isin(problem.component, parts)
        room = _place_others(problem, mine)
        fixed = np.where(mine & (problem.fixed >= 0), problem.fixed, -1)
        first = np.searchsorted(problem.component, parts)
        topologies = problem.topology[first]
        heap_need, heap_room = _heaps(problem, room, topologies, problem.heap[first])
        floor = counts_of(problem, fixed)[parts]
        least, most = _bounds(request, [problem.components[part] for part in parts.tolist()], floor.sum(axis=1))
        on_node = [room.topologies_on(node) for node in range(problem.m)]
        return cls(
            request=request,
            profiled=_rows(profiled, parts, _allowed(problem, fixed), floor),
            parts=parts,
            free=FULL - unprofiled_load(problem, profiled, room.node_of),
            need=np.hstack([_largest(problem, parts)[:, 1:], heap_need]),
            room=np.hstack([room.free[:, 1:], heap_room]),
            topology=topologies,
            slots=room.free_slots,
            present=np.array(
                [[t in there for there in on_node] for t in range(len(problem.topology_ids))], dtype=bool
            ).reshape(len(problem.topology_ids), problem.m),
            floor=floor,
            given=width[parts],
            least=least,
            most=most,
            problem=problem,
            node_of=room.node_of,
        )

    def names(self) -> tuple[str, ...]:
        """`topology/component` of each component."""
        return tuple("/".join(self._problem.components[part]) for part in self.parts.tolist())

    @property
    def unprofiled(self) -> NDArray[np.int64]:
        """Tasks without a profile on each node, as they were placed, int64 (C, m), by component of the request."""
        others = ~np.isin(self._problem.component, self.parts)
        return counts_of(self._problem, np.where(others, self._node_of, -1))

    def plan(self, counts: NDArray[np.int64], factor: float, explanation: str = "") -> Plan:
        """Make a plan of counts, shape (K, m), each component having one at least, at a factor of the stated rates.

        Numbers of tasks that cannot be while a component runs (`least`, `most`) are brought to the nearest that can.
        """
        fitted = self.within_bounds(counts)
        if (fitted != counts).any():
            factor = min(factor, self.profiled.max_factor(fitted, np.maximum(self.free, 0.0)))
            counts, explanation = fitted, f"{explanation}; brought to numbers of tasks that can be while all runs"
        total = counts.sum(axis=1)
        chosen = FrozenMap(dict(zip(self.names(), total.tolist(), strict=True)))
        problem = Problem.of(self._on_profiled(with_instances(self.request, chosen, priced=True)))
        plan = problem.plan(self._nodes(problem, counts), explanation)
        return self._sustained(problem, attrs.evolve(plan, parallelism=chosen), factor)

    def within_bounds(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Counts in which each component has the nearest number of tasks that it can have, in about the same shares.

        Args:
            counts: Tasks by component and node, shape (K, m), one of each component at least.
        """
        total, found = counts.sum(axis=1), counts.copy()
        for row in np.flatnonzero((total < self.least) | (total > self.most)).tolist():
            loose = counts[row] - self.floor[row] if total[row] > self.most[row] else counts[row]
            wanted = int(np.clip(total[row], self.least[row], self.most[row]) - self.floor[row].sum())
            # Largest remainder, ties to the node of lowest index.
            share = np.maximum(loose, 0) * (wanted / max(int(loose.sum()), 1))
            whole = np.floor(share + 1e-9).astype(np.int64)
            whole[np.argsort(whole - share, kind="stable")[: wanted - int(whole.sum())]] += 1
            found[row] = self.floor[row] + whole
        return found

    def _on_profiled(self, request: Request) -> Request:
        """The request with constraints to machines with a profile, where its own may make tasks move."""
        if not self._problem.constraints:
            return request
        kinds: dict[tuple[str, str], list[str]] = defaultdict(list)
        for each in request.profiles:
            kinds[each.topology, each.component].append(each.machine_type)
        topologies = [
            attrs.evolve(
                topology,
                constraints=(
                    *topology.constraints,
                    *(
                        Constraint(
                            kind=ConstraintKind.ONLY_ON,
                            components=(component,),
                            labels=FrozenMap(machine_type=tuple(sorted(types))),
                        )
                        for (owner, component), types in sorted(kinds.items())
                        if owner == topology.id
                    ),
                ),
            )
            for topology in request.topologies
        ]
        return attrs.evolve(request, topologies=tuple(topologies))

    def _sustained(self, problem: Problem, plan: Plan, factor: float) -> Plan:
        """The plan at the highest rate that it sustains up to a factor: a move limit may have left tasks behind."""
        found = _sustains(problem, problem.node_of(plan.assignment))
        if isinstance(found, Reason):
            return self.refuse(found, plan.explanation)
        if found >= factor * (1 - 1e-6):
            return self._at(plan, min(factor, found))
        said = f"{plan.explanation}; {found / factor:.1%} of the rate, as not all running tasks may move"
        stays = self.stay(found, "within the move limit nothing is better")
        return stays or self._at(attrs.evolve(plan, explanation=said), found)

    def stay(self, least: float, why: str) -> Plan | None:
        """The plan of what runs, if all does and sustains a factor of the stated rates that is at least so high."""
        problem = Problem.of(with_instances(self.request, {}, priced=True))
        found = _sustains(problem, problem.current)
        if (problem.current < 0).any() or isinstance(found, Reason) or not least <= found < np.inf:
            return None
        plan = problem.plan(problem.current, f"running tasks stay: {why}")
        return self._at(plan, found) if plan.status is Status.OK else None

    def _at(self, plan: Plan, factor: float) -> Plan:
        """The plan at a factor of the stated rates."""
        return attrs.evolve(plan, input_rate=factor * Profiled.of(self.request).input_rate)

    def others(self, explanation: str = "") -> Plan:
        """The plan of a request without profiles: each task is where it takes the least share of the CPU.

        Its reasons say so (`NO_PROFILES`): a table must not show it as a result of a scheduler that plans by profiles.
        """
        plan = Problem.of(self.request).plan(self._node_of, explanation)
        message = "no component of the request has a profile, and the scheduler plans by profiles"
        lacking = Reason(code=NO_PROFILES, subject="profiles", message=message, resource="profiles", need=1.0, have=0.0)
        return attrs.evolve(plan, reasons=(*plan.reasons, lacking))

    def refuse(self, reason: Reason, explanation: str = "") -> Plan:
        """The plan that leaves these components out, for a reason; what runs stays where all does and takes tuples."""
        stays = self.stay(0.0, reason.message)
        if stays is not None and stays.input_rate:
            return stays
        problem = Problem.of(self.request)
        mine = np.isin(problem.component, self.parts)
        plan = problem.plan(np.where(mine, -1, self._node_of), explanation)
        return attrs.evolve(plan, status=Status.INFEASIBLE, reasons=(reason, *plan.reasons))

    def no_machine(self, row: int) -> Reason:
        """Reason why no machine takes a first task of a component: profile, slot, or the resource that is shortest."""
        name = self.names()[row]
        if not self.profiled.covers[row].any():
            message = f"{name} has no profile for any machine type of the cluster; profile it on one of them"
            if Profiled.of(self.request).covers[self.parts[row]].any():
                message = f"{name} has profiles only for machines where a constraint forbids it"
            return Reason(code="profile", subject=name, message=message, resource="profiles", need=1.0, have=0.0)
        best = self.room[self.profiled.covers[row]].max(axis=0, initial=0.0)
        short = np.flatnonzero(best < self.need[row])
        if not len(short):
            message = f"{name} finds no machine with a free slot and enough memory among those it has a profile for"
            return Reason(code="slots", subject=name, message=message, resource="slots", need=1.0, have=0.0)
        what = (*self._problem.resources[1:], *["heap"] * len(best))[int(short[0])]
        need, have = float(self.need[row, short[0]]), max(float(best[short[0]]), 0.0)
        message = f"{name} needs {need:g} {what}, the machine with most has {have:g}"
        return Reason(code="capacity", subject=name, message=message, resource=what, need=need, have=have)

    def _nodes(self, problem: Problem, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Node of each task: those that run stay where the counts allow, the others fill nodes by index."""
        node_of = np.full(problem.n, -1, dtype=np.int64)
        others = dict(zip(self._problem.task_ids, self._node_of.tolist(), strict=True))
        for row, part in enumerate(self.parts.tolist()):
            left = counts[row].copy()
            tasks = np.flatnonzero(problem.component == part)
            stays = []
            for task in sorted(tasks.tolist(), key=lambda each: problem.fixed[each] < 0):
                node = int(problem.current[task])
                if node >= 0 and left[node] > 0:
                    left[node] -= 1
                    node_of[task] = node
                    stays.append(task)
            rest = np.setdiff1d(tasks, stays)
            node_of[rest] = np.repeat(np.arange(problem.m), left)
        for task in np.flatnonzero(~np.isin(problem.component, self.parts)).tolist():
            node_of[task] = others[problem.task_ids[task]]
        return node_of


def _bounds(
    request: Request, names: list[tuple[str, str]], stay: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Fewest and most tasks of each component; those that may not move are there in any case."""
    parts = {(each.id, part.id): part for each in request.topologies for part in each.components}
    least = [parts[name].min_parallelism or 1 for name in names]
    most = [parts[name].max_parallelism or MAX_TASKS for name in names]
    low = np.maximum(np.array(least, dtype=np.int64).reshape(len(names)), stay)
    return low, np.maximum(np.array(most, dtype=np.int64).reshape(len(names)), low)


def _sustains(problem: Problem, node_of: NDArray[np.int64]) -> float | Reason:
    """The highest factor of the stated rates that a placement sustains, or the reason why there is none."""
    profiled = Profiled.of(problem.request)
    counts = np.where(profiled.covered[:, None], counts_of(problem, node_of), 0)
    free = FULL - unprofiled_load(problem, profiled, node_of)
    return _fault(problem, profiled, counts, free) or profiled.max_factor(counts, np.maximum(free, 0.0))


def _fault(problem: Problem, profiled: Profiled, counts: NDArray[np.int64], free: NDArray[np.float64]) -> Reason | None:
    """Reason why no rate is sustained: a task where it has no profile, or fixed costs that are too much for a node."""
    for part, node in np.argwhere((counts > 0) & ~profiled.covers).tolist():
        name, where = "/".join(problem.components[part]), problem.node_ids[node]
        message = f"{name} has no profile for node {where}, which a task of it may not leave; profile it there"
        return Reason(code="profile", subject=name, message=message, resource="profiles", need=1.0, have=0.0)
    need = (counts * profiled.met).sum(axis=0)
    over = np.flatnonzero(counts.any(axis=0) & (need > free + OVER * FULL))
    if not len(over):
        return None
    name, percent, left = problem.node_ids[over[0]], float(need[over[0]]), max(float(free[over[0]]), 0.0)
    message = f"the tasks of node {name} need {percent:g} % before the first tuple, {left:g} % are free"
    if free[over[0]] < 0:
        message = f"{message}: tasks without a profile take {FULL - free[over[0]]:g} %"
    return Reason(code="capacity", subject=name, message=message, resource="cpu", need=percent, have=left)


def _largest(problem: Problem, parts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Demand of the largest task of each component, shape (K, d): measured tasks of a component differ."""
    found = np.zeros((len(problem.components), problem.demand.shape[1]))
    np.maximum.at(found, problem.component, problem.demand)
    return found[parts]


def _allowed(problem: Problem, fixed: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Nodes that constraints on labels leave to each component, and those of tasks that may not move, bool (c, m)."""
    return np.asarray(problem.constraints.allowed | (counts_of(problem, fixed) > 0), dtype=np.bool_)


def _rows(
    profiled: Profiled, parts: NDArray[np.int64], allowed: NDArray[np.bool_], floor: NDArray[np.int64]
) -> Profiled:
    """The profiles of some components, on the nodes that a task may have, and can take tuples on if it can on any."""
    covers = (profiled.covers & allowed)[parts]
    works = covers & (profiled.met < profiled.limit)[parts]
    return attrs.evolve(
        profiled,
        e=profiled.e[parts],
        met=profiled.met[parts],
        limit=profiled.limit[parts],
        covers=np.where(works.any(axis=1, keepdims=True), works | (covers & (floor > 0)), covers),
        covered=profiled.covered[parts],
        gain=profiled.gain[parts],
    )


def _place_others(problem: Problem, mine: NDArray[np.bool_]) -> Room:
    """Place every task without profile: where it runs, else where it fits and takes the least share of the CPU."""
    room = problem.room()
    for task in np.flatnonzero(~mine & (problem.fixed < 0)).tolist():
        node = int(problem.current[task])
        if node < 0 or not room.fits_on(task, node):
            fits = np.flatnonzero(room.fits(task))
            if not len(fits):
                continue
            node = int(fits[problem.capacity[fits, 0].argmax()])
        room.place(task, node)
    return room


def _heaps(
    problem: Problem, room: Room, topologies: NDArray[np.int64], heap: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Heap that a task takes and one worker has, a column for each topology that limits it."""
    limited = [t for t in np.unique(topologies).tolist() if np.isfinite(problem.heap_limit[t])]
    need = (
        np.array([heap * (topologies == t) for t in limited], dtype=np.float64).reshape(len(limited), len(topologies)).T
    )
    left = [[max(room.heap_left(t, node), 0.0) for node in range(problem.m)] for t in limited]
    fresh = [
        [problem.heap_limit[t] if room.heap_left(t, node) < 0 else 0.0 for node in range(problem.m)] for t in limited
    ]
    return need, (np.array(left) + np.array(fresh)).reshape(len(limited), problem.m).T

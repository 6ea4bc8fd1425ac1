"""References for schedulers that share nothing with the core: all placements, constraints, the smallest scheduler."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import attrs

from headworks.hooks import Description, hookimpl
from headworks.model import ConstraintKind, Scope, Slot

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headworks.model import Constraint, Node, Plan, Request, Topology
    from headworks.problem import Problem


def broken_constraints(request: Request, assignment: Mapping[str, Slot]) -> tuple[str, ...]:
    """Hard constraints that an assignment breaks though the running one keeps them there, a sentence each."""
    nodes = {node.id: node for node in request.cluster.nodes}
    alive = {
        task: slot
        for task, slot in request.assignment.items()
        if slot.node in nodes and slot.port in nodes[slot.node].slots
    }
    return tuple(
        f"{topology.id}: {constraint}"
        for topology in request.topologies
        for constraint in topology.constraints
        if constraint.is_hard and _breaks(topology, constraint, nodes, alive, assignment)
    )


def broken_by_decision(request: Request, plan: Plan) -> tuple[str, ...]:
    """Hard constraints that a scheduler's own decision breaks, before the core repaired it, a sentence each.

    Constraints within workers are not looked at: it is the core that gives tasks their workers.
    """
    decided = dict(plan.assignment)
    for each in plan.repaired:
        slot = decided.pop(each.task, None)
        if each.source is not None:
            decided[each.task] = Slot(each.source, slot.port if slot else 0)
    on_nodes = tuple(
        attrs.evolve(each, constraints=tuple(one for one in each.constraints if one.scope is not Scope.WORKER))
        for each in request.topologies
    )
    return broken_constraints(attrs.evolve(request, topologies=on_nodes), decided)


def _breaks(
    topology: Topology,
    constraint: Constraint,
    nodes: Mapping[str, Node],
    before: Mapping[str, Slot],
    after: Mapping[str, Slot],
) -> bool:
    names = set(constraint.components) or {part.id for part in topology.components}
    part_of = {task.id: task.component for task in topology.tasks() if task.component in names}
    now = {task: _domain(constraint.scope, nodes, after[task]) for task in part_of if task in after}
    then = {task: _domain(constraint.scope, nodes, before[task]) for task in part_of if task in before}
    if constraint.kind is ConstraintKind.TOGETHER:
        used = set(now.values())
        return len(used) > 1 and not used <= set(then.values())
    if constraint.kind in (ConstraintKind.APART, ConstraintKind.AT_MOST):
        held: dict[object, list[str]] = defaultdict(list)
        for task, domain in now.items():
            held[domain].append(task)
        alone = len(names) == 1
        return any(
            _too_many(constraint, [part_of[task] for task in tasks], alone=alone)
            and any(then.get(task) != domain for task in tasks)
            for domain, tasks in held.items()
        )
    moved = [task for task in now if task not in before or before[task].node != after[task].node]
    return any(_has(nodes[after[task].node], constraint) is _refused(constraint) for task in moved)


def _too_many(constraint: Constraint, parts: list[str], *, alone: bool) -> bool:
    if constraint.kind is ConstraintKind.AT_MOST:
        return len(parts) > (constraint.limit or 0)
    return len(parts) > 1 if alone else len(set(parts)) > 1


def _refused(constraint: Constraint) -> bool:
    return constraint.kind is ConstraintKind.NEVER_ON


def _domain(scope: Scope, nodes: Mapping[str, Node], slot: Slot) -> object:
    node = nodes[slot.node]
    domains = {
        Scope.NODE: node.id,
        Scope.HOST: node.host or node.id,
        Scope.RACK: node.rack,
        Scope.ZONE: node.zone,
        Scope.WORKER: slot,
    }
    return domains[scope]


def _has(node: Node, constraint: Constraint) -> bool:
    fields = {
        "node": node.id,
        "host": node.host or node.id,
        "rack": node.rack,
        "zone": node.zone,
        "machine_type": node.machine_type,
    }
    return all({**node.labels, **fields}.get(name) in values for name, values in constraint.labels.items())


class FirstFit:
    """Put each task, in order of id, on the first node with room for it."""

    @hookimpl
    def headworks_describe(self) -> Description:
        """Say what it is."""
        return Description(summary=self.__doc__ or "", capabilities=frozenset({"scale-free"}))

    @hookimpl
    def headworks_schedule(self, problem: Problem) -> Plan:
        """Walk over the tasks once; a task that fits nowhere stays unplaced."""
        room = problem.room()
        for task in range(problem.n):
            nodes = room.fits(task).nonzero()[0]
            if room.node_of[task] < 0 and nodes.size:
                room.place(task, int(nodes[0]))
        return problem.plan(room.node_of)


MAX_TASKS, MAX_NODES = 8, 3


def placeable(problem: Problem) -> bool:
    """Check whether every task can have a node within capacity, slots and heap limits; moves are not looked at.

    Tasks are tried depth first in order of index; a branch ends where a node is too full.

    Raises:
        ValueError: There are more than 8 tasks or 3 nodes.
    """
    if problem.n > MAX_TASKS or problem.m > MAX_NODES:
        raise ValueError(f"{problem.n} tasks on {problem.m} nodes are too many to try; at most 8 on 3")
    stack: list[tuple[int, ...]] = [()]
    while stack:
        nodes = stack.pop()
        if len(nodes) == problem.n:
            return True
        free = [int(problem.fixed[len(nodes)])] if problem.fixed[len(nodes)] >= 0 else range(problem.m)
        stack += [(*nodes, node) for node in free if _holds(problem, (*nodes, node), node)]
    return False


def _holds(problem: Problem, nodes: tuple[int, ...], node: int) -> bool:
    """Check whether one node can hold the tasks that `nodes` (node by task) gives it."""
    here = [task for task, each in enumerate(nodes) if each == node]
    if (problem.demand[here].sum(axis=0) > problem.capacity[node]).any():
        return False
    free = [task for task in here if not problem.closed[task]]  # closed ones hold slots that `slots` does not count
    workers = sum(_workers(problem, free, topology) for topology in set(problem.topology[free].tolist()))
    return workers <= int(problem.slots[node])


def _workers(problem: Problem, here: list[int], topology: int) -> float:
    """Fewest worker processes for one topology's tasks on a node: exact bin packing of their heaps.

    Deliberately apart from `headworks.problem.arrays.workers`, whose witness it is. Fixed tasks fill the workers in
    which they run; then every subset of the others is filled task by task, worker after worker, and (workers, heap in
    the last one) is least for the best order.
    """
    mine = [task for task in here if problem.topology[task] == topology]
    limit, held = float(problem.heap_limit[topology]), defaultdict[int, float](float)
    for task in mine:
        if problem.fixed[task] >= 0:
            held[problem.request.assignment[problem.task_ids[task]].port] += float(problem.heap[task])
    heaps = [float(problem.heap[task]) for task in mine if problem.fixed[task] < 0]
    if max(heaps, default=0.0) > limit:
        return float("inf")
    start = [*held.values(), *[0.0] * len(heaps)]
    best = {0: (0, start[0])} if heaps else {0: (len(held) - 1, 0.0)}
    for subset in range(1, 1 << len(heaps)):
        ways = []
        for task, heap in enumerate(heaps):
            if subset >> task & 1:
                worker, used = best[subset ^ (1 << task)]
                if used + heap > limit:
                    worker, used = next(
                        (at, start[at]) for at in range(worker + 1, len(start)) if start[at] + heap <= limit
                    )
                ways.append((worker, used + heap))
        best[subset] = min(ways)
    return max(len(held), best[(1 << len(heaps)) - 1][0] + 1)

"""A second count of constraints, by dictionaries, that shares nothing with the check of the host."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from headworks.model import ConstraintKind, Scope

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headworks.model import Constraint, Node, Request, Slot, Topology


def broken_constraints(request: Request, assignment: Mapping[str, Slot]) -> tuple[str, ...]:
    """Hard constraints that an assignment breaks though the running one keeps them there, a sentence each.

    Args:
        request: The request.
        assignment: Slot of each task, by task id.
    """
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

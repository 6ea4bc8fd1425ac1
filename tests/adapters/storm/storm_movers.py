"""Schedulers that want one move, or another number of tasks, whatever is measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from headworks.hooks import Description, hookimpl
from headworks.model import FrozenMap
from headworks.model.scaling import with_instances
from headworks.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headworks.model import Plan, Request


class Mover:
    """Some tasks on one node, and all others where they are."""

    def __init__(self, tasks: Sequence[str], node: str) -> None:
        self._tasks, self._node = tasks, node

    @hookimpl
    def headworks_describe(self) -> Description:
        return Description(summary="one move")

    @hookimpl
    def headworks_schedule(self, request: Request) -> Plan:
        problem = Problem.of(request)
        node_of = problem.node_of(request.assignment)
        for task in self._tasks:
            node_of[problem.task_ids.index(task)] = problem.node_index[self._node]
        return problem.plan(node_of)


class Chooser:
    """One number of tasks of a component after another; all tasks stay, and those that are new go to one node."""

    def __init__(self, *chosen: tuple[str, int], node: str | None = None) -> None:
        self.chosen, self._node = list(chosen), node

    @hookimpl
    def headworks_describe(self) -> Description:
        return Description(summary="chooses numbers of tasks")

    @hookimpl
    def headworks_schedule(self, request: Request) -> Plan:
        component, count = self.chosen.pop(0)
        names = [f"{each.id}/{part.id}" for each in request.topologies for part in each.components]
        counts = FrozenMap({name: count for name in names if name.partition("/")[2] == component})
        problem = Problem.of(with_instances(request, counts))
        new = 0 if self._node is None else problem.node_index[self._node]
        plan = problem.plan([new if node < 0 else node for node in problem.current.tolist()])
        return attrs.evolve(plan, parallelism=counts)

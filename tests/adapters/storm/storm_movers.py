"""A scheduler that wants one move, whatever is measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headgate.hooks import Description, hookimpl
from headgate.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headgate.model import Plan, Request


class Mover:
    """Some tasks on one node, and all others where they are."""

    def __init__(self, tasks: Sequence[str], node: str) -> None:
        self._tasks, self._node = tasks, node

    @hookimpl
    def headgate_describe(self) -> Description:
        return Description(summary="one move")

    @hookimpl
    def headgate_schedule(self, request: Request) -> Plan:
        problem = Problem.of(request)
        node_of = problem.node_of(request.assignment)
        for task in self._tasks:
            node_of[problem.task_ids.index(task)] = problem.node_index[self._node]
        return problem.plan(node_of)

"""A scheduler that carries out a plan which was made before the topology ran."""

from __future__ import annotations

import itertools
from collections import deque
from typing import TYPE_CHECKING

import attrs

from headworks.hooks import Description, hookimpl
from headworks.model import Plan, Request

if TYPE_CHECKING:
    from headworks.problem import Problem

NAME = "planned"


@attrs.frozen(eq=False)
class Planned:
    """Give each component as many tasks on each machine type as a plan has.

    Attributes:
        request: What was planned; one node of each machine type.
        plan: The plan of it.
    """

    request: Request
    plan: Plan

    @hookimpl
    def headworks_describe(self) -> Description:
        """Describe the scheduler."""
        return Description(summary="A plan that was made before the topology ran.")

    @hookimpl
    def headworks_schedule(self, problem: Problem) -> Plan:
        """Place the tasks; those that the plan does not know, Storm's ackers, are dealt out to the nodes that it uses.

        Args:
            problem: The round, whose nodes have the machine types of the request.
        """
        types = {each.id: each.machine_type for each in self.request.cluster.nodes}
        node_of = {each.machine_type: problem.node_index[each.id] for each in problem.request.cluster.nodes}
        left: dict[str, deque[str | None]] = {}
        for task, slot in sorted(self.plan.assignment.items()):
            left.setdefault(task.split("/")[1], deque()).append(types[slot.node])
        others = itertools.cycle(types[node] for node in sorted({slot.node for slot in self.plan.assignment.values()}))
        places = (left.get(task.split("/")[1]) for task in problem.task_ids)
        chosen = [node_of[kinds.popleft() if kinds else next(others)] for kinds in places]
        return problem.plan(chosen, "as planned before")

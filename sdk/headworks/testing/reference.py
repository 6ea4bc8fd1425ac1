"""The smallest scheduler that keeps the contract: a pattern to copy and a yardstick for the kit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headworks.hooks import Description, hookimpl

if TYPE_CHECKING:
    from headworks.model import Plan
    from headworks.problem import Problem


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

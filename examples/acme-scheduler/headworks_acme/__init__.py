"""Acme's scheduler, a plugin for Headworks: the entry point `acme` names the object of that name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from headworks import Description, hookimpl

if TYPE_CHECKING:
    from headworks import Plan, Problem


@attrs.frozen(kw_only=True)
class Options:
    """The choices of a user.

    Attributes:
        resource: The resource by which room is compared.
        spread: Take the node with the most room; False takes the one with the least that is still enough.
    """

    resource: str = "cpu"
    spread: bool = True


class Acme:
    """Put every task on the node with the most room left."""

    @hookimpl
    def headworks_describe(self) -> Description:
        """Say what the plugin is."""
        return Description(summary=self.__doc__, options=Options, capabilities=frozenset({"scale-free"}))

    @hookimpl
    def headworks_schedule(self, problem: Problem, options: Options) -> Plan:
        """Place the tasks in order of id; the lowest node id wins a tie."""
        room = problem.room()
        column = problem.resources.index(options.resource) if options.resource in problem.resources else 0
        for task in range(problem.n):
            nodes = room.fits(task).nonzero()[0]
            if room.node_of[task] < 0 and nodes.size:
                free = room.free[nodes, column]
                room.place(task, int(nodes[free.argmax() if options.spread else free.argmin()]))
        return problem.plan(room.node_of)


acme = Acme()

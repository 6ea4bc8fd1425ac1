"""The plugin `resource-aware`: R-Storm and its descendant, Storm's ResourceAwareScheduler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import attrs

from headworks.hooks import Description, hookimpl
from headworks.problem import Problem
from headworks_baselines.distance import Distance
from headworks_baselines.order import breadth_first_order, connection_order
from headworks_baselines.proximity import Proximity
from headworks_baselines.rules import Racks
from headworks_baselines.start import start, waiting_by_component

if TYPE_CHECKING:
    from headworks.model import Plan, Request


@attrs.frozen(kw_only=True)
class ResourceAwareOptions:
    """Options of `resource-aware`: Storm's scheduler of today, or R-Storm's.

    The defaults are Storm's today. The rules of 2015 (`bfs`, `distance`) send far more over the network.

    Attributes:
        order: Order of tasks: `ras` by number of connections (Storm 2), `bfs` breadth first (R-Storm).
        rule: Choice of nodes: `ras` first fit, racks and hosts of the topology first (Storm 2), `distance` the
            nearest node (R-Storm).
        measured: Take measured demands; by default those declared, which is all that Storm knows.
        rebalance: Place running tasks anew as well.
    """

    order: Literal["ras", "bfs"] = "ras"
    rule: Literal["ras", "distance"] = "ras"
    measured: bool = False
    rebalance: bool = False


class ResourceAware:
    """Pack each topology on few nodes near each other, by the demands that its components declare.

    Topologies come by priority, then by id: Storm's shares of users are not known here. Unlike Storm, which starts
    a topology whole or not at all and may evict others for it, tasks that fit are placed, and the rest waits.
    """

    @hookimpl
    def headworks_describe(self) -> Description:
        """Describe the scheduler."""
        return Description(
            summary=(self.__doc__ or "").partition("\n")[0],
            options=ResourceAwareOptions,
            paper="Peng et al., R-Storm, Middleware 2015; Apache Storm 2.8, ResourceAwareScheduler",
            capabilities=frozenset({"idempotent", "scale-free"}),
        )

    @hookimpl
    def headworks_schedule(self, request: Request, options: ResourceAwareOptions) -> Plan:
        """Place the tasks, one topology after the other."""
        order = connection_order if options.order == "ras" else breadth_first_order
        rule = Proximity if options.rule == "ras" else Distance
        problem = Problem.of(request, measured=options.measured)
        room = start(problem, rebalance=options.rebalance)
        racks = Racks.of(problem)
        by_id = sorted(request.topologies, key=lambda each: each.id)
        for index, topology in sorted(enumerate(by_id), key=lambda pair: (pair[1].priority, pair[0])):
            choose = rule(problem, room, index, racks).choose
            for task in order(topology, waiting_by_component(problem, room, index)):
                node = choose(task)
                if node >= 0:
                    room.place(task, node)
        return problem.plan(room.node_of, f"order {options.order}, rule {options.rule}")


resource_aware = ResourceAware()

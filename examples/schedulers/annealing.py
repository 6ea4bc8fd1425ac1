"""A scheduler that anneals a placement: `annealing` is the object of its entry point."""

from __future__ import annotations

import attrs
import numpy as np

from headworks import Description, Plan, Problem, hookimpl
from headworks.toolbox.repair import repair
from headworks.toolbox.whole import whole_topologies


@attrs.frozen(kw_only=True)
class Options:
    """Steps of the annealing; first temperature, as a share of the traffic of a mean task."""

    steps: int = 20_000
    hot: float = 0.3


class Annealing:
    """Move one task after the other to nodes where it has less traffic, at first to some where it has more."""

    @hookimpl
    def headworks_describe(self) -> Description:
        return Description(summary=self.__doc__, options=Options)

    @hookimpl
    def headworks_schedule(self, problem: Problem, options: Options) -> Plan:
        dice, room = np.random.default_rng(problem.request.seed), problem.room(whole_topologies(problem))
        tasks, traffic = np.flatnonzero((problem.fixed < 0) & (room.node_of >= 0)), problem.traffic
        best, cost, least = room.node_of.copy(), 0, 0
        for step in range(options.steps if len(tasks) else 0):
            task = int(dice.choice(tasks))
            here, near = int(room.node_of[task]), traffic.of_task(task, room.node_of, problem.m)
            room.remove(task)
            there = int(dice.choice(np.append(np.flatnonzero(room.fits(task)), here)))
            heat = options.hot * traffic.total / problem.n * (1 - step / options.steps)
            there = there if near[here] - near[there] < heat * dice.exponential() else here
            room.place(task, there)
            cost += int(near[here] - near[there])
            if cost < least:
                best, least = room.node_of.copy(), cost
        return problem.plan(repair(problem, best, range(problem.m)))


annealing = Annealing()

"""The plugin `isolation`: Storm's IsolationScheduler."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headworks.hooks import Description, hookimpl
from headworks_baselines.even import ON_STORM, EvenOptions
from headworks_baselines.hosts import SHARED, claim_hosts, reserved
from headworks_baselines.round_robin import deal_topology, not_started, workers_left
from headworks_baselines.start import start, topologies_by_task_size

if TYPE_CHECKING:
    from headworks.model import Plan
    from headworks.problem import Problem


class Isolation:
    """Keep hosts for topologies that ask for it (`isolated_nodes`), and spread the others evenly over the rest.

    An isolated topology uses its own hosts only: what has no room there waits. It claims no host that can hold none of
    its tasks, and no more than it has tasks. Unlike Storm, which evicts
    strangers from a host it claims and schedules nothing else while a claim fails, running tasks stay and the
    other topologies go on; with `rebalance` every movable task is placed anew, and the claims come first.
    """

    @hookimpl
    def headworks_describe(self) -> Description:
        """Describe the scheduler."""
        return Description(
            summary=(self.__doc__ or "").partition("\n")[0],
            options=EvenOptions,
            defaults=ON_STORM,
            paper="Apache Storm 2.8, IsolationScheduler",
            capabilities=frozenset({"idempotent", "scale-free"}),
        )

    @hookimpl
    def headworks_schedule(self, problem: Problem, options: EvenOptions) -> Plan:
        """Claim hosts, then spread the tasks."""
        room, worker_of = start(problem, rebalance=options.rebalance), np.full(problem.n, -1)
        topologies = sorted(problem.request.topologies, key=lambda each: each.id)
        owner, short = claim_hosts(problem, room, topologies)
        starting = {each for each in not_started(problem, room) if not topologies[each].isolated_nodes}
        for index in topologies_by_task_size(problem):
            starting.discard(index)
            alone = bool(topologies[index].isolated_nodes)
            allowed = owner == (index if alone else SHARED)
            asked = topologies[index].workers if options.workers == "topology" else None
            later = 0 if alone else len(starting)
            workers = workers_left(problem, room, index, asked, allowed=allowed, later=later)
            deal_topology(problem, room, index, allowed=allowed, workers=workers, worker_of=worker_of)
        claimed = int((owner != SHARED).sum())
        return problem.plan(
            room.node_of,
            "; ".join([f"{claimed} nodes serve one topology alone", *short]),
            reserved(problem, room, topologies, owner),
            worker_of=worker_of,
        )


isolation = Isolation()

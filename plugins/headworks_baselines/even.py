"""The plugin `even`: Storm's EvenScheduler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import attrs
import numpy as np

from headworks.hooks import Description, hookimpl
from headworks_baselines.round_robin import deal_topology, not_started, workers_left
from headworks_baselines.start import start, topologies_by_task_size

if TYPE_CHECKING:
    from headworks.model import Plan
    from headworks.problem import Problem


@attrs.frozen(kw_only=True)
class EvenOptions:
    """Options of `even` and `isolation`.

    Attributes:
        workers: `nodes` deals over one slot of every node, as in the experiments of the papers, so that a topology has
            one worker on a node; `topology`, the default on Storm, over as many slots as the topology has workers,
            several of one node where they are more than the nodes, and fewer where others would find none.
        rebalance: Place running tasks anew as well.
    """

    workers: Literal["nodes", "topology"] = "nodes"
    rebalance: bool = False


ON_STORM = {"storm": {"workers": "topology"}}
"""Storm's own schedulers give a topology the workers that it asks for; a slot on every node would starve others."""


class Even:
    """Deal the tasks of each topology round robin over free slots, as Storm's EvenScheduler does.

    Topologies with the largest tasks come first, tasks by component and index, slots interleaved over the nodes,
    those with most free slots first. It looks at no resource, except that a node without room for a task is passed
    over: Storm itself would overload it. Running tasks stay where they are.
    """

    @hookimpl
    def headworks_describe(self) -> Description:
        """Describe the scheduler."""
        return Description(
            summary=(self.__doc__ or "").partition("\n")[0],
            options=EvenOptions,
            defaults=ON_STORM,
            paper="Apache Storm 2.8, EvenScheduler and DefaultScheduler",
            capabilities=frozenset({"idempotent", "scale-free"}),
        )

    @hookimpl
    def headworks_schedule(self, problem: Problem, options: EvenOptions) -> Plan:
        """Spread the tasks."""
        room, worker_of = start(problem, rebalance=options.rebalance), np.full(problem.n, -1)
        everywhere = np.ones(problem.m, dtype=bool)
        passed = 0
        topologies = sorted(problem.request.topologies, key=lambda each: each.id)
        starting = not_started(problem, room)
        for index in topologies_by_task_size(problem):
            starting.discard(index)
            asked = topologies[index].workers if options.workers == "topology" else None
            workers = workers_left(problem, room, index, asked, allowed=everywhere, later=len(starting))
            passed += deal_topology(problem, room, index, allowed=everywhere, workers=workers, worker_of=worker_of)
        explanation = f"round robin; {passed} tasks passed over a node without room, which Storm would overload"
        return problem.plan(room.node_of, explanation, worker_of=worker_of)


even = Even()

"""A scheduler that learns by the cross-entropy method: `policy_search` is the object of its entry point."""

from __future__ import annotations

import attrs
import numpy as np

from headworks import Description, Plan, Problem, hookimpl
from headworks.toolbox.scoring import score_all


@attrs.frozen(kw_only=True)
class Options:
    """Rounds of learning, placements that each of them draws, and how many of these it learns from."""

    rounds: int = 10
    drawn: int = 20
    best: int = 4


class PolicySearch:
    """Draw placements by a table of tasks and nodes, and learn the table from those with least traffic."""

    @hookimpl
    def headworks_describe(self) -> Description:
        return Description(summary=self.__doc__, options=Options)

    @hookimpl
    def headworks_schedule(self, problem: Problem, options: Options) -> Plan:
        dice, empty, found = np.random.default_rng(problem.request.seed), problem.room(), []
        policy = np.ones((problem.n, problem.m))
        for _ in range(options.rounds):
            for room in [empty.copy() for _ in range(options.drawn)]:
                for task in np.flatnonzero(problem.fixed < 0).tolist():
                    chance = room.fits(task) * policy[task]
                    if chance.any():
                        room.place(task, int(dice.choice(problem.m, p=chance / chance.sum())))
                found.append(room.node_of)
            scores = score_all(problem, np.stack(found))
            order = np.lexsort((scores.nodes, scores.inter_node, scores.unplaced))
            found = [found[each] for each in order[: options.best]]
            policy = 0.1 + sum(each[:, None] == np.arange(problem.m) for each in found)
        return problem.plan(found[0])


policy_search = PolicySearch()

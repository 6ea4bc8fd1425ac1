"""The array view of a request: what algorithms compute on, built once a round."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import attrs
import numpy as np

from headworks.problem.arrays.arrays import Arrays
from headworks.problem.arrays.build import build, copied
from headworks.problem.plan.changes import followed
from headworks.problem.plan.planning import make_plan
from headworks.problem.repair.constraints import ConstraintRule, repair_hard, repair_soft
from headworks.problem.repair.slowdown import BatchRule, slowdown_of
from headworks.problem.room.room import Room
from headworks.problem.rules.violations import breaks_on_nodes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from headworks.model import Plan, Reason, Request
    from headworks.problem.repair.slowdown import Slowdown
    from headworks.problem.rules.rule import PlacementRule


@attrs.frozen(eq=False, kw_only=True)
class Problem(Arrays):
    """The arrays of a request, on which a scheduler places tasks and makes a plan."""

    @classmethod
    def of(cls, request: Request, *, measured: bool = True) -> Problem:
        """Build the arrays of a request, once: they are kept with it.

        Args:
            measured: Take demands and traffic from `metrics` where they are there; False uses declarations alone.

        Raises:
            DocumentError: The request contradicts itself (see `headworks.model.validate`).
        """
        if measured not in request.views:
            request.views[measured] = build(cls, request, measured=measured)
        problem: Problem = request.views[measured]
        return problem

    def lend(self, request: Request) -> None:
        """Give a request that says the same a copy of these arrays, as `of` would build them for it."""
        _ = self.task_index  # tasks are shared: their ids are read before anybody else has them
        request.views[self.measured] = copied(self, request)

    def room(self, node_of: NDArray[np.int64] | None = None) -> Room:
        """Free capacity and slots, with every fixed task in its place.

        Args:
            node_of: Where the other tasks begin, int64 (n,), -1 for those without a node; all of them by default.
        """
        return Room(self, node_of)

    @cached_property
    def rules(self) -> tuple[PlacementRule, ...]:
        """Constraints, then the limit on batches, as far as the request has them."""
        constraints = (ConstraintRule(self),) if self.constraints else ()
        limit = slowdown_of(self, constraints)
        return constraints if limit is None else (*constraints, BatchRule(self, limit))

    @property
    def slowdown(self) -> Slowdown | None:
        """The limit on batches, None where the request has none."""
        return next((rule.limit for rule in self.rules if isinstance(rule, BatchRule)), None)

    def repair(self, node_of: NDArray[np.int64]) -> NDArray[np.int64]:
        """Move tasks that break a constraint to nodes where they do not, as `plan` does.

        Returns:
            Node index of each task, int64 (n,); the same array where the request has no constraints.
        """
        return repair_soft(self, repair_hard(self, node_of)) if self.constraints else node_of

    def breaks(self, node_of: NDArray[np.int64]) -> bool:
        """Check whether a decision on nodes breaks a hard constraint."""
        return breaks_on_nodes(self, node_of, fresh=True)

    def plan(
        self,
        node_of: NDArray[np.int64] | Sequence[int],
        explanation: str = "",
        reasons: Sequence[Reason] = (),
        *,
        worker_of: NDArray[np.int64] | Sequence[int] | None = None,
        repair: bool = True,
    ) -> Plan:
        """Turn a decision on nodes into a plan: slots, ordered moves, scores, and reasons where it is infeasible.

        A task that would break a hard constraint goes to another node, or is left out. One that breaks a soft one
        goes where it does not, if there is room. Tasks of batches that take too long (`limits.slowdown`) go where they
        take less. `Plan.repaired` names each task whose node is not the one decided, and why.

        Equal tasks keep their places: of tasks of a component that need and exchange the same, those stay that run
        where the decision has one of them, so that nothing moves in vain. Nobody is told, for no figure changes by it.

        Args:
            node_of: Node index of each task, shape (n,), -1 where nothing fits. Fixed tasks stay in any case.
            explanation: What a person should know about the decision.
            reasons: Why all unplaced tasks of a topology are so, where the scheduler decided it: the subject of
                each is the topology's id. Other unplaced tasks get a reason each.
            worker_of: Worker of each task, shape (n,), for a scheduler that decides workers as well: tasks of one
                topology on one node are in one worker where the number is the same. -1 leaves it to Headworks, as None
                does for all tasks: one worker for a topology on a node, more where its heap limit asks for them.
                Where the slots of a node do not suffice for so many, its topologies have fewer.
            repair: False refuses a decision that breaks a rule: the plan is infeasible, its reasons are what it breaks,
                and nothing moves. Soft constraints are then counted alone (`Scores.penalty`).

        Raises:
            ValueError: A shape is wrong, or an index is not a node.
        """
        workers = None if worker_of is None else np.asarray(worker_of, dtype=np.int64)
        decided = np.asarray(node_of, dtype=np.int64)
        return make_plan(self, decided, explanation, tuple(reasons), workers, repair=repair)

    def plan_again(self, plan: Plan, explanation: str = "") -> Plan:
        """Plan the nodes of a plan for a variant of this request; its repairs stay listed."""
        again = self.plan(self.node_of(plan.assignment), explanation)
        return attrs.evolve(again, repaired=followed(plan.repaired, again.repaired, self.task_index))

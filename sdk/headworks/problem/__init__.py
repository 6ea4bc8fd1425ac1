"""The array view of a request: what schedulers compute on, and how a decision becomes a plan.

Everywhere here `node_of` is a decision: the node index of each task, int64 (n,), -1 for a task without a node. `task`,
`node`, `topology` and `part` (a component) are indices into the arrays.
"""

from headworks.problem.arrays.arrays import STEP
from headworks.problem.plan.problem import Problem

__all__ = ["STEP", "Problem"]

"""The array view of a request: what schedulers compute on, and how a decision becomes a plan."""

from headworks.problem.arrays.amounts import STEP
from headworks.problem.plan.problem import Problem

__all__ = ["STEP", "Problem"]

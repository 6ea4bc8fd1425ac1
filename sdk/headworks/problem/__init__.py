"""The array view of a request: what schedulers compute on, and how a decision becomes a plan."""

from headworks.problem.amounts import STEP
from headworks.problem.problem import Problem

__all__ = ["STEP", "Problem"]

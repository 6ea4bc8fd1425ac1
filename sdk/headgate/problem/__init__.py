"""The array view of a request: what schedulers compute on, and how a decision becomes a plan."""

from headgate.problem.amounts import STEP
from headgate.problem.problem import Problem

__all__ = ["STEP", "Problem"]

"""Experiments on the simulated engine: one run or several, their figures and pages."""

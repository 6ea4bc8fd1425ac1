"""Heterogeneity-aware throughput: numbers of tasks, their nodes and the input rate."""

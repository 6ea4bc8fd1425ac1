"""Heterogeneity-aware throughput (papers 002 and 004): numbers of tasks, their nodes and the input rate."""

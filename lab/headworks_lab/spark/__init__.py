"""Experiments on a real cluster: one scheduler on one workload, on nodes that are apart, measured from outside too."""

"""Evidence of OTD: workloads, printed figures, comparison of the guard with the paper."""

"""Evidence of D-Storm: workloads, worked examples, printed figures, comparisons with the optimum."""

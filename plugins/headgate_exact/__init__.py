"""Proven optima by CP-SAT: least traffic between nodes, or highest throughput."""

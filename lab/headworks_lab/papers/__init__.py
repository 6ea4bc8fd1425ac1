"""Printed figures of the four papers, recomputed; improved variants beside them."""

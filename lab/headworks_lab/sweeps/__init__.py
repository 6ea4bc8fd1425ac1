"""Sweeps: many simulated experiments, their outcomes, and the page that shows them."""

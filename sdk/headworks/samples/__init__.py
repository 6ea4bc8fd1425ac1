"""Samples of monitors: their rows, and the store that keeps them."""

"""Requests to try schedulers on: seeded cases, edge cases, strategies of Hypothesis, variants and smaller ones."""

"""Remaining capacity while tasks are placed; the slots that they take; the order in which they move."""

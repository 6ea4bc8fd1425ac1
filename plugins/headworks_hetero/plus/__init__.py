"""The scheduler `hetero-plus`: Algorithm 2 with several tasks at once, packing, a local search. Not in the papers."""

from headworks_hetero.plus.plugin import hetero_plus

__all__ = ["hetero_plus"]

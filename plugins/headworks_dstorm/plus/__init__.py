"""The scheduler `dstorm-plus`: D-Storm's plan and further starts, annealed. Not in the paper."""

from headworks_dstorm.plus.plugin import dstorm_plus

__all__ = ["dstorm_plus"]

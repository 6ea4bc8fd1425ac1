"""Degradation of throughput in a run, as Figures 9 and 10 of the paper have it: seconds by level, and the total."""

from __future__ import annotations

import attrs

LEVELS = (0.2, 0.4, 0.6, 0.8, 1.0)
"""Levels of degradation in Figure 9: parts of the usual throughput that are missing."""


@attrs.frozen(kw_only=True)
class Degradation:
    """Throughput of a run in which tasks are redeployed.

    Attributes:
        usual: Tuples a second without any redeployment.
        rates: Tuples in each second of the run.
    """

    usual: float
    rates: tuple[float, ...]

    def share(self, level: float) -> float:
        """Part of the seconds in which at least so much of the usual throughput is missing.

        Args:
            level: Part of the usual throughput; 1 counts the seconds in which nothing came.
        """
        low = sum(each <= self.usual - level * self.usual for each in self.rates)
        return low / len(self.rates)

    @property
    def throughput(self) -> float:
        """Mean throughput of the run, as a multiple of the usual one."""
        return sum(self.rates) / len(self.rates) / self.usual

"""The plugin `dstorm-plus`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from headworks.hooks import Description, hookimpl
from headworks_dstorm.analyser import analyse
from headworks_dstorm.demand import planned
from headworks_dstorm.options import ON_SPARK, PlusOptions
from headworks_dstorm.plus.starts import improve

if TYPE_CHECKING:
    from headworks.hooks import Verdict
    from headworks.model import Observation, Plan, Request


class DStormPlus:
    """Improve the best of D-Storm's plan, a fill, whole topologies and a multilevel partition by annealing."""

    @hookimpl
    def headworks_describe(self) -> Description:
        """Describe the scheduler."""
        return Description(
            summary=(self.__doc__ or "").partition("\n")[0],
            options=PlusOptions,
            defaults=ON_SPARK,
            paper="After Liu, Lin, Buyya: Dynamic Resource-Efficient Scheduling (D-Storm, ICPADS 2017); not in it",
            capabilities=frozenset({"scale-free", "traffic-aware"}),
        )

    @hookimpl
    def headworks_schedule(self, request: Request, options: PlusOptions) -> Plan:
        """Make the starts, anneal them, and choose; see `headworks_dstorm.plus.starts`."""
        return planned(request, options, partial(improve, options=options))

    @hookimpl
    def headworks_analyse(self, observation: Observation, options: PlusOptions) -> Verdict:
        """Check the two abnormal states of section 5.4, as `dstorm` does."""
        return analyse(observation, options)


dstorm_plus = DStormPlus()

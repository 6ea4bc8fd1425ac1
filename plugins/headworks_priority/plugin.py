"""The plugins `sps`, `dps` and `sps-v2`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headworks.hooks import Description, hookimpl
from headworks_priority import sharing
from headworks_priority.options import DpsOptions, SpsOptions, SpsV2Options
from headworks_priority.workloads import dynamic_workloads, static_workloads

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headworks.model import Plan, Request, Workload

THESIS = "Chakraborty: thesis on priority-based scheduling for Storm (in part: Chakraborty, Majumdar, SPECTS 2016)"


class Sps:
    """Share the nodes among topologies by what they desire; priority decides who gains from rounding.

    The Static Priority Scheduler of Table 2. Each topology has its nodes for itself.
    """

    @hookimpl
    def headworks_describe(self) -> Description:
        """Describe the scheduler."""
        return _describe(self, SpsOptions, f"{THESIS}, Tables 2 and 3")

    @hookimpl
    def headworks_schedule(self, request: Request, options: SpsOptions) -> Plan:
        """Run Table 2, then Table 3."""
        return sharing.sps(request, options)

    @hookimpl
    def headworks_workloads(self) -> Sequence[Workload]:
        """Name the two use cases with static shares."""
        return static_workloads()


class Dps:
    """Give the most important topologies all they desire, and starve the others while that lasts.

    The Dynamic Priority Scheduler of Table 4. Priorities are those of the request: whoever hears a topology's trigger
    (the priority manager of the thesis) lowers its number, and raises it again when the trigger is off.
    """

    @hookimpl
    def headworks_describe(self) -> Description:
        """Describe the scheduler."""
        return _describe(self, DpsOptions, f"{THESIS}, Tables 3 and 4")

    @hookimpl
    def headworks_schedule(self, request: Request, options: DpsOptions) -> Plan:
        """Run Table 4, then Table 3."""
        return sharing.dps(request, options)

    @hookimpl
    def headworks_workloads(self) -> Sequence[Workload]:
        """Name the two use cases with triggers."""
        return dynamic_workloads()


class SpsV2:
    """Give every topology its minimum, then share the rest by what is desired, the most important first.

    SPS with its defects mended: a minimum is never cut by rounding, no node is idle, a cluster larger than needed
    does not distort the shares.
    """

    @hookimpl
    def headworks_describe(self) -> Description:
        """Describe the scheduler."""
        return _describe(self, SpsV2Options, "")

    @hookimpl
    def headworks_schedule(self, request: Request, options: SpsV2Options) -> Plan:
        """Share by largest remainder above the minima, then run Table 3."""
        return sharing.sps_v2(request, options)


def _describe(plugin: object, options: type, paper: str) -> Description:
    return Description(
        summary=(plugin.__doc__ or "").partition("\n")[0],
        options=options,
        paper=paper,
        capabilities=frozenset({"idempotent", "scale-free"}),
    )


sps = Sps()
dps = Dps()
sps_v2 = SpsV2()

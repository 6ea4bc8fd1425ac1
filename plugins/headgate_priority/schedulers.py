"""The three schedulers as functions: a rule of shares, then the resource allocator."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from headgate_priority import shares
from headgate_priority.sharing import schedule

if TYPE_CHECKING:
    from headgate.model import Plan, Request
    from headgate_priority.options import DpsOptions, SpsOptions, SpsV2Options


def sps(request: Request, options: SpsOptions) -> Plan:
    """Table 2, then Table 3."""
    return schedule(request, options, partial(shares.sps, options=options), options.below_minima)


def dps(request: Request, options: DpsOptions) -> Plan:
    """Table 4, then Table 3."""
    return schedule(request, options, partial(shares.dps, options=options))


def sps_v2(request: Request, options: SpsV2Options) -> Plan:
    """Share by largest remainder above the minima, then Table 3."""
    return schedule(request, options, partial(shares.sps_v2, options=options), options.below_minima)

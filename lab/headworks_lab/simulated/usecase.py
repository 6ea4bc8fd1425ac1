"""Use case 1 of the priority thesis (003, section 4.1) on the simulator: two event and two archival topologies.

An event topology has 8 workers on `c` supervisors of 2 cores; a round is done when its slowest supervisor is. A tuple
takes `max(s, ceil(8 / c) * u / 2)` seconds: `s` where a worker has a core and more for itself, `u` of processor time
where two share them. Both grow linearly with the service time S. Neither is printed: `s` is fitted to the three
latencies under Storm's isolation scheduler (Fig. 26), `u` to the three under SPS (Fig. 14), the rate at which starved
archival topologies catch up to the three of Fig. 15. Numbers of nodes are those that the thesis prints in Tables 6, 8
and 9.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Literal

import attrs
import numpy as np

from headworks_lab.simulated.batches import Allocation, BatchRound, work_off

Policy = Literal["isolation", "SPS", "DPS"]

WORKERS, CORES = 8, 2
"""Workers of an event topology, and cores of a supervisor."""
NODES: dict[str, tuple[int, int]] = {"isolation": (8, 8), "SPS": (6, 6), "DPS": (5, 8)}
"""Supervisors of an event topology while the trigger is off, and while it is on (Tables 6, 8 and 9)."""
STARVED, RESUMED = 0, 3
"""Supervisors of an archival topology under DPS while the trigger is on, and after (Table 9)."""
ISOLATION_LATENCY = ((0.1, 0.160822), (0.2, 0.237425), (0.3, 0.332356))
"""Fig. 26: S, T_T of the event topologies with 8 supervisors each."""
SPS_LATENCY = ((0.1, 0.219918), (0.2, 0.33307), (0.3, 0.473854))
"""Fig. 14: S, T_T of the event topologies with 6 supervisors each."""
STARVED_LATENCY = ((0.05, 22.30882), (0.1, 30.05407), (0.15, 36.10407))
"""Fig. 15: S, T_T of the archival topologies under DPS."""


@attrs.frozen(kw_only=True)
class UseCaseSetting:
    """Table 10: gap BG (seconds), tuples in a batch BL, rounds BT, part of them with an event EP, service time S."""

    gap: float = 60.0
    length: int = 80
    rounds: int = 80
    events: float = 0.5
    service: float = 0.2

    @property
    def triggered(self) -> int:
        """Rounds in which the trigger is on; they are the first ones."""
        return round(self.events * self.rounds)


@cache
def _line(points: tuple[tuple[float, float], ...]) -> tuple[float, float]:
    """Slope and offset of the least-squares line through points."""
    table = np.array(points, dtype=np.float64)
    slope, offset = np.polyfit(table[:, 0], table[:, 1], 1)
    return float(slope), float(offset)


def tuple_time(service: float, nodes: int) -> float:
    """Seconds that an event topology takes for a tuple: max(s, ceil(8 / c) * u / 2).

    Args:
        service: S, the service time of a tuple, seconds.
        nodes: c, supervisors of 2 cores.
    """
    (s1, s0), (u1, u0) = _line(ISOLATION_LATENCY), _line(SPS_LATENCY)
    return max(s0 + s1 * service, math.ceil(WORKERS / nodes) * (u0 + u1 * service) / CORES)


def event_rounds(policy: Policy, setting: UseCaseSetting) -> tuple[BatchRound, ...]:
    """Simulate the rounds of an event topology, in order of arrival.

    Args:
        policy: The scheduler, which gives it its supervisors.
        setting: Table 10.
    """
    off, on = NODES[policy]
    allocations = [Allocation(begin=0.0, nodes=on), Allocation(begin=setting.triggered * setting.gap, nodes=off)]
    arrivals = [number * setting.gap for number in range(setting.rounds)]
    return work_off(arrivals, allocations, lambda nodes, _: setting.length * tuple_time(setting.service, nodes))


def event_latency(policy: Policy, setting: UseCaseSetting) -> float:
    """T_E: seconds to infer a complex event, mean over the rounds that hold one.

    Args:
        policy: The scheduler.
        setting: Table 10.
    """
    rounds = event_rounds(policy, setting)[: setting.triggered]
    return sum(each.latency for each in rounds) / len(rounds)


def tuple_latency(policy: Policy, setting: UseCaseSetting) -> float:
    """T_T: seconds for each tuple of a round, mean over rounds.

    Args:
        policy: The scheduler.
        setting: Table 10.
    """
    rounds = event_rounds(policy, setting)
    return sum(each.latency for each in rounds) / len(rounds) / setting.length


def starved_latency(setting: UseCaseSetting) -> float:
    """T_T of an archival topology under DPS, mean over the rounds that it was starved in; S is its own service time."""
    end = setting.triggered * setting.gap
    allocations = [Allocation(begin=0.0, nodes=STARVED), Allocation(begin=end, nodes=RESUMED)]
    arrivals = [number * setting.gap for number in range(setting.triggered)]
    rounds = work_off(arrivals, allocations, lambda _nodes, _waited: catch_up() * setting.service)
    return sum(each.latency for each in rounds) / len(rounds) / setting.length


@cache
def catch_up() -> float:
    """Seconds in which a starved archival topology works a round off, for each second of service time: one fit.

    A starved round i of n waits until n * BG and for the i before it: T_T = (n + 1) / 2 * (BG + b) / BL.
    """
    default = UseCaseSetting()
    n = default.triggered
    # b = 2 * BL * T_T / (n + 1) - BG for each print, over its S: their mean.
    found = [(2 * default.length * late / (n + 1) - default.gap) / service for service, late in STARVED_LATENCY]
    return sum(found) / len(found)

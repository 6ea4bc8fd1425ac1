"""Profiling: from measured points of CPU use to e and MET (section "CPU usage prediction")."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from headgate.model import Profile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headgate.model import Request


def fixed_cost(used: float, rate: float, e: float) -> float:
    """MET of Eq. 5 at the highest point measured: percent used - e * rate, and never below 0.

    Args:
        used: Percent of the machine.
        rate: Tuples/s.
        e: Percent-seconds of one tuple, as the engine measures it (100 times its seconds).
    """
    return max(0.0, used - e * rate)


def fit(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """(e, MET) of least squares through (tuples/s, percent), both 0 or more; through 0 where there is one rate alone.

    Raises:
        ValueError: No point has a rate above 0.
    """
    rates = np.array([rate for rate, _ in points], dtype=np.float64)
    used = np.array([percent for _, percent in points], dtype=np.float64)
    if not (rates > 0).any():
        raise ValueError("a profile needs a measured point with a rate above 0")
    through_zero = float(rates @ used / (rates @ rates))
    spread = rates - rates.mean()
    if not spread.any():
        return through_zero, 0.0
    e = float(spread @ used / (spread @ spread))
    met = float(used.mean() - e * rates.mean())
    return (e, met) if e >= 0 and met >= 0 else (through_zero, 0.0) if met < 0 else (0.0, float(used.mean()))


def measured_profiles(request: Request) -> tuple[Profile, ...]:
    """A profile for each component and machine type on which its tasks were measured (CPU and tuples received)."""
    nodes = {node.id: node for node in request.cluster.nodes}
    selectivity = {(each.id, part.id): part.selectivity for each in request.topologies for part in each.components}
    points: dict[tuple[str, str, str], list[tuple[float, float]]] = defaultdict(list)
    for sample in request.metrics.tasks:
        slot = request.assignment.get(sample.task)
        node = nodes.get(slot.node) if slot else None
        rate = sample.received or sample.emitted
        if node is None or sample.cpu is None or not rate or not node.capacity.cpu:
            continue
        topology, component, _ = sample.task.rsplit("/", 2)
        points[topology, component, node.machine_type or ""].append((rate, 100 * sample.cpu / node.capacity.cpu))
    return tuple(
        Profile(topology=t, component=c, machine_type=kind, e=e, met=met, alpha=selectivity[t, c])
        for (t, c, kind), found in sorted(points.items())
        for e, met in [fit(found)]
    )

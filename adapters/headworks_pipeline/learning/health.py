"""Health of nodes: silent, with gaps, overloaded, or slower than their machine type."""

from __future__ import annotations

from typing import Literal

import attrs
import numpy as np
from numpy.typing import NDArray

from headworks.model.knowledge import NodeHealth

SILENT = 5
"""Minutes without a report, at the end of the time considered, of a silent node: if larger, a dead node is told later;
if smaller, a late file makes one."""
GAPS = 0.9
"""Part of the minutes in which a node is to be seen: if larger, one lost report counts; if smaller, an unstable node
passes."""
FULL = 0.95
"""Part of its capacity that the 95th percentile of a node's minutes may use: if larger, back-pressure hides the
overload."""
SLOW = 1.25
"""CPU of its tasks over the predictions of profiles, beyond which a node is slow: if smaller, errors of profiles are
told as slow nodes; if larger, a node that lost a core may pass."""
UNLIKE = 10
"""Windows of tasks that a node needs to be called slow: if smaller, a few bad windows do; if larger, new nodes pass."""


@attrs.frozen(kw_only=True, eq=False)
class NodeRecord:
    """Record of one node over some hours.

    Attributes:
        minutes: int64 (k,), minutes since 1970 in which it reported, in order.
        cpu: float64 (k,), CPU points in them, nan if not measured.
        capacity: CPU points, None if not known.
        used, predicted: CPU of its tasks, measured and by their profiles, in seconds times points.
        samples: Windows of tasks.
    """

    node: str
    machine_type: str = ""
    minutes: NDArray[np.int64]
    cpu: NDArray[np.float64]
    capacity: float | None = None
    used: float = 0.0
    predicted: float = 0.0
    samples: int = 0


def health(seen: NodeRecord, first: int, last: int) -> NodeHealth:
    """Judge a node.

    Args:
        seen: Its record.
        first: First minute of the time considered, since 1970.
        last: Last minute.
    """
    share = len(seen.minutes) / max(last - first + 1, 1)
    measured = seen.cpu[~np.isnan(seen.cpu)]
    top = float(np.quantile(measured, 0.95, method="inverted_cdf")) if len(measured) else None
    slowness = seen.used / seen.predicted if seen.predicted > 0 and seen.samples >= UNLIKE else None
    away = last - int(seen.minutes[-1]) if len(seen.minutes) else last - first + 1
    # In order of urgency: the first finding is the state, all of them are reasons.
    found: list[tuple[Literal["slow", "overloaded", "gaps", "silent"], str]] = []
    if away >= SILENT:
        found.append(("silent", f"no report in the last {away} minutes"))
    if top is not None and seen.capacity and top >= FULL * seen.capacity:
        found.append(("overloaded", f"{top:.0f} of {seen.capacity:.0f} CPU points in its busiest minutes"))
    if slowness is not None and slowness > SLOW:
        found.append(("slow", f"its tasks take {slowness:.2f} times the CPU of their profiles"))
    if share < GAPS and away < SILENT:
        found.append(("gaps", f"seen in {share:.0%} of the minutes"))
    return NodeHealth(
        node=seen.node,
        machine_type=seen.machine_type,
        state=found[0][0] if found else "healthy",
        cpu=float(f"{measured.mean():.9g}") if len(measured) else None,
        cpu_p95=float(f"{top:.9g}") if top is not None else None,
        seen=float(f"{min(share, 1.0):.6g}"),
        slowness=float(f"{slowness:.6g}") if slowness is not None else None,
        reasons=tuple(text for _, text in found),
    )

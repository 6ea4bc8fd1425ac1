"""Profiling: MET from the highest point that was measured (section "CPU usage prediction").

Points of several rates are fitted by `headworks profile`.
"""

from __future__ import annotations


def fixed_cost(used: float, rate: float, e: float) -> float:
    """MET of Eq. 5 at the highest point measured: percent used - e * rate, and never below 0.

    Args:
        used: Percent of the machine.
        rate: Tuples/s.
        e: Percent-seconds of one tuple, as the engine measures it (100 times its seconds).
    """
    return max(0.0, used - e * rate)

"""Bounds of a node that is apart, and how people write them."""

from __future__ import annotations

import re

import attrs

from headgate.errors import EngineError

UNITS = {"bit": 1.0, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9}
"""Bits per second, by the units of the traffic control of Linux."""
LEAST_RATE = 64e3
"""Bits per second; with less no daemon's heartbeats come in time."""
LEAST_CORES = 0.05
"""Cores; with less a JVM does not start within minutes."""


@attrs.frozen(kw_only=True)
class NodeLimits:
    """Bounds of one node; None is no bound.

    Attributes:
        cores: Processor time, in cores: 0.5 is half of the time of one.
        memory_mb: Memory of all its processes together, in MB.
        rate: Bits per second, to the node and from it.
    """

    cores: float | None = None
    memory_mb: float | None = None
    rate: float | None = None

    def __attrs_post_init__(self) -> None:
        """Check the bounds."""
        if self.cores is not None and not LEAST_CORES <= self.cores < float("inf"):
            raise EngineError(f"a node of {self.cores:g} cores: at least {LEAST_CORES:g} are needed to start a JVM")
        if self.rate is not None and not LEAST_RATE <= self.rate < float("inf"):
            raise EngineError(f"a network of {self.rate:g} bit/s: at least {LEAST_RATE:g} are needed for heartbeats")
        if self.memory_mb is not None and not 1 <= self.memory_mb < float("inf"):
            raise EngineError(f"a node of {self.memory_mb:g} MB: at least 1 is needed")


def parse_rate(text: str) -> float:
    """Bits per second of a rate such as `20mbit`.

    Args:
        text: A number with one of `UNITS`.

    Raises:
        ValueError: It is none.
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([kmg]?bit)", text.strip().lower())
    if found is None:
        raise ValueError(f"{text!r} is no rate such as 20mbit: a number and {', '.join(UNITS)}")
    return float(found[1]) * UNITS[found[2]]


def parse_cores(text: str) -> tuple[float, ...]:
    """Cores of each node, of a list such as `1.0,0.5,0.5`.

    Args:
        text: Numbers with commas between them.

    Raises:
        ValueError: It is none, or a number is below `LEAST_CORES`.
    """
    parts = [each.strip() for each in text.split(",")]
    if not all(re.fullmatch(r"\d+(?:\.\d+)?", each) and float(each) >= LEAST_CORES for each in parts):
        raise ValueError(f"{text!r} is no list of cores such as 1.0,0.5,0.5, each at least {LEAST_CORES:g}")
    return tuple(float(each) for each in parts)

"""Bounds of a node that is apart, and how people write them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import attrs

from headworks.errors import EngineUseError

if TYPE_CHECKING:
    from collections.abc import Iterable

UNITS = {"bit": 1.0, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9}
"""Bits per second, by the units of the traffic control of Linux."""
LEAST_RATE = 64e3
"""Bits per second; with less no daemon's heartbeats come in time."""
LEAST_CORES = 0.05
"""Cores; with less a JVM does not start within minutes."""
LONGEST = 254
"""Bytes of a rack's name: Linux keeps no more as the alias of an interface, in which it is found again."""


@attrs.frozen
class Rack:
    """A rack: its nodes share a bridge, and one link to all that is not on it.

    Attributes:
        name: What schedulers know it by.
        rate: Bits per second, to the rack and from it; None is no bound.
    """

    name: str
    rate: float | None = None

    def __attrs_post_init__(self) -> None:
        """Check the bound."""
        if not self.name:
            raise EngineUseError("a rack without a name: schedulers know it by one")
        if (size := len(self.name.encode())) > LONGEST:
            raise EngineUseError(f"{self.name[:20]}... is a rack's name of {size} bytes: at most {LONGEST} are kept")
        _check_rate(f"a link of {self.name}", self.rate)


@attrs.frozen(kw_only=True)
class NodeLimits:
    """Bounds of one node; None is no bound.

    Attributes:
        cores: Processor time, in cores: 0.5 is half of the time of one.
        memory_mb: Memory of all its processes together, in MB.
        rate: Bits per second, to the node and from it.
        rack: Where it is; None is at the core, as Nimbus or a Master is.
    """

    cores: float | None = None
    memory_mb: float | None = None
    rate: float | None = None
    rack: Rack | None = None

    def __attrs_post_init__(self) -> None:
        """Check the bounds."""
        if self.cores is not None and not LEAST_CORES <= self.cores < float("inf"):
            raise EngineUseError(f"a node of {self.cores:g} cores: at least {LEAST_CORES:g} are needed to start a JVM")
        _check_rate("a network", self.rate)
        if self.memory_mb is not None and not 1 <= self.memory_mb < float("inf"):
            raise EngineUseError(f"a node of {self.memory_mb:g} MB: at least 1 is needed")


def racks_of(nodes: Iterable[NodeLimits]) -> tuple[Rack, ...]:
    """The racks of nodes, in the order in which the nodes name them.

    Raises:
        EngineError: Two nodes differ in the rate of their rack.
    """
    found: dict[str, Rack] = {}
    for rack in (each.rack for each in nodes if each.rack is not None):
        if found.setdefault(rack.name, rack) != rack:
            raise EngineUseError(f"{rack.name} has one link, and its nodes say {found[rack.name].rate} and {rack.rate}")
    return tuple(found.values())


def parse_rate(text: str) -> float:
    """Bits per second of a rate such as `20mbit`.

    Args:
        text: A number with one of `UNITS`.

    Raises:
        ValueError: It is none.
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([kmg]?bit)", text.strip().lower())
    if found is None:
        raise ValueError(f"{text!r} is not a rate such as 20mbit: a number and {', '.join(UNITS)}")
    return float(found[1]) * UNITS[found[2]]


def parse_cores(text: str) -> tuple[float, ...]:
    """Cores of each node, of a list such as `1.0,0.5,0.5`.

    Raises:
        ValueError: It is none, or a number is below `LEAST_CORES`.
    """
    parts = [each.strip() for each in text.split(",")]
    if not all(re.fullmatch(r"\d+(?:\.\d+)?", each) and float(each) >= LEAST_CORES for each in parts):
        raise ValueError(f"{text!r} is not a list of cores such as 1.0,0.5,0.5, each at least {LEAST_CORES:g}")
    return tuple(float(each) for each in parts)


def parse_racks(text: str) -> tuple[int, ...]:
    """Nodes of each rack, of a list such as `2,1`.

    Raises:
        ValueError: It is none, or a rack has no node.
    """
    parts = [each.strip() for each in text.split(",")]
    if not all(re.fullmatch(r"[1-9]\d{0,2}", each) for each in parts):
        raise ValueError(f"{text!r} is not a list of nodes in each rack such as 2,1, each at least 1")
    return tuple(int(each) for each in parts)


def _check_rate(what: str, rate: float | None) -> None:
    if rate is not None and not LEAST_RATE <= rate < float("inf"):
        raise EngineUseError(f"{what} of {rate:g} bit/s: at least {LEAST_RATE:g} are needed for heartbeats")

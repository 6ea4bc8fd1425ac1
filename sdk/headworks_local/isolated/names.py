"""Names of namespaces, interfaces and control groups, which tell who made them: nothing of anybody else is touched."""

from __future__ import annotations

import itertools
import os
import re
import string
from typing import Self

import attrs
import psutil

PATTERN = re.compile(r"hw([0-9a-z]{5})([0-9a-z]{4})([0-9a-z])([0-9a-z]{2})([brc]?)")
"""Owner's pid, when it started, which of its clusters, which node, all to base 36; of a rack, which one, and a letter:
its bridge, or the end of its link at the rack or at the core. An interface's name may have 15 characters."""
TICKS = 36**4
"""Hundredths of a second after which two starts look alike, 4.7 hours: a pid that is given away again is told apart."""

_clusters = itertools.count()


@attrs.frozen
class ClusterName:
    """Name of a cluster of this or another process: its owner's pid and start, and a number.

    Attributes:
        pid: Process that made the cluster.
        born: When that process started, in hundredths of a second since boot, modulo `TICKS`.
        number: Which of its clusters, modulo 36.
    """

    pid: int
    born: int
    number: int

    @classmethod
    def new(cls) -> Self:
        """Name of one more cluster of this process."""
        return cls(os.getpid(), _born(os.getpid()) or 0, next(_clusters) % 36)

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """The cluster that a name belongs to, None if it is none of Headworks's."""
        found = PATTERN.fullmatch(text)
        return cls(int(found[1], 36), int(found[2], 36), int(found[3], 36)) if found else None

    @property
    def owned(self) -> bool:
        """True while the process that made the cluster lives."""
        born = _born(self.pid)
        return born is not None and min((born - self.born) % TICKS, (self.born - born) % TICKS) <= 1

    @property
    def bridge(self) -> str:
        """Name of its bridge, the core if there are racks."""
        return self.node(0)

    def node(self, index: int) -> str:
        """Name of a node's namespace, of its interface on the bridge, and of its control group.

        Args:
            index: Number of the node, from 1.
        """
        return f"hw{_digits(self.pid, 5)}{_digits(self.born, 4)}{_digits(self.number, 1)}{_digits(index, 2)}"

    def rack(self, index: int) -> tuple[str, str, str]:
        """Names of a rack's bridge, and of the ends of its link: at the core, and at the rack.

        Args:
            index: Number of the rack, from 1.
        """
        return f"{self.node(index)}b", f"{self.node(index)}c", f"{self.node(index)}r"


def _digits(number: int, width: int) -> str:
    """A number to the base 36, which `int` reads."""
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = (string.digits + string.ascii_lowercase)[digit] + digits
    return digits.rjust(width, "0")


def _born(pid: int) -> int | None:
    try:
        return round((psutil.Process(pid).create_time() - psutil.boot_time()) * 100) % TICKS
    except psutil.NoSuchProcess:
        return None

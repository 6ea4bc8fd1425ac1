"""Time to plan: so many seconds of CPU, which a busy machine does not shorten, and a multiple of that by the clock."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import attrs

STRETCH = 3.0
"""Times the deadline that a plan may take by the clock, where the process of its scheduler gets less than a core."""
LOOK = 0.01
"""Seconds between two looks at the CPU that was used, at least."""


@attrs.frozen(eq=False, kw_only=True)
class PlanningTime:
    """Time of one run of a scheduler, from now on.

    Attributes:
        stretch: Times a number of seconds after which it is over by the clock, whatever CPU was used.
        cpu: Seconds of CPU that the process of the scheduler has used: all of its threads, so that native ones count.
        clock: Seconds of the clock.
    """

    stretch: float = STRETCH
    cpu: Callable[[], float] = time.process_time
    clock: Callable[[], float] = time.monotonic
    _used: float = attrs.field(init=False, default=attrs.Factory(lambda self: self.cpu(), takes_self=True))
    _begun: float = attrs.field(init=False, default=attrs.Factory(lambda self: self.clock(), takes_self=True))

    def left(self, seconds: float) -> float:
        """Seconds until it is worth to look again whether so many are over, 0 once they are.

        They are over when they have passed by the clock, and either as many of CPU or `stretch` times as many.
        """
        passed = self.clock() - self._begun
        if passed < seconds:
            return seconds - passed
        rest = min(seconds - (self.cpu() - self._used), self.stretch * seconds - passed)
        return max(rest, LOOK) if rest > 0 else 0.0

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Wait for an event until so many seconds are over: whether it is set."""
        while left := self.left(seconds):
            if event.wait(min(left, threading.TIMEOUT_MAX)):
                return True
        return event.is_set()


def cpu_of(pid: int) -> float:
    """Seconds of CPU that a process has used; inf where the system does not say so, and the clock alone counts."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return math.inf
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")  # utime and stime, without its children

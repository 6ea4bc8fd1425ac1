"""The handle of a simulated engine that the hooks take."""

from __future__ import annotations

import attrs

from headgate_sim.world import World

GRACE = 1.0
"""Seconds that the executor looks on after the last task should have started."""


@attrs.define(kw_only=True)
class SimTarget:
    """A world, and how it is watched."""

    world: World

    @property
    def now(self) -> float:
        """Seconds of simulated time."""
        return self.world.now

    def clock(self) -> float:
        """What the control loop takes for the time."""
        return self.world.now

    def wait(self, seconds: float) -> None:
        """Let simulated time pass: the pause between two rounds."""
        self.world.advance(self.world.now + seconds)

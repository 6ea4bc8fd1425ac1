"""The handle of a simulated engine that the hooks take."""

from __future__ import annotations

import attrs

from headworks_sim.fluid.world import World

GRACE = 1.0
"""Seconds that the executor looks on after the last task should have started. With 0, a start at that very moment would
be missed; with more, a plan takes longer."""
EPOCH = 946_684_800.0
"""Simulated time 0 is the first second of the year 2000 (UTC): equal experiments write equal samples."""


@attrs.define(kw_only=True)
class SimTarget:
    """The handle of a simulated engine: the simulation, and its time for the control loop."""

    world: World

    @property
    def now(self) -> float:
        """Seconds of simulated time."""
        return self.world.now

    def clock(self) -> float:
        """The control loop's time: simulated seconds."""
        return self.world.now

    def moment(self) -> float:
        """The same in seconds since 1970 (UTC), for samples."""
        return EPOCH + self.world.now

    def wait(self, seconds: float) -> None:
        """Let simulated time pass: the pause between two rounds."""
        self.world.advance(self.world.now + seconds)

    def fail_node(self, node: str) -> None:
        """Let a node die now, as an event `node-down` of a trace does."""
        self.world.fail(node)

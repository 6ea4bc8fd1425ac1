"""The handle of a simulated engine that the hooks take, and what its monitor sees through it."""

from __future__ import annotations

import attrs

from headworks.model import FrozenMap, Observation
from headworks_sim.fluid.window import measure
from headworks_sim.fluid.world import World

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


def observe(target: SimTarget, window: float) -> Observation:
    """Let a window of simulated time pass, and measure it.

    A node that died is in the observation, with its tasks, until `Timing.detection` seconds have passed, as with an
    engine that counts missing heartbeats.

    Args:
        target: The engine.
        window: Simulated seconds.
    """
    world = target.world
    first = len(world.spans)
    world.advance(world.now + window)
    assignment, dead = world.places.seen(world.now, world.timing.detection)
    request = world.layout.problem.request
    nodes = tuple(node for node in request.cluster.nodes if node.id not in dead)
    return Observation(
        cluster=attrs.evolve(request.cluster, nodes=nodes),
        topologies=request.topologies,
        assignment=FrozenMap(assignment),
        metrics=measure(world.layout, world.spans[first:], dead),
        profiles=request.profiles,
        transfer=request.transfer,
    )

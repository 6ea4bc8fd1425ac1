"""The monitor of the simulated engine: a window of simulated time passes, and its means are an observation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headworks.model import Cluster, FrozenMap, Observation
from headworks_sim.fluid.window import measure

if TYPE_CHECKING:
    from headworks_sim.target import SimTarget


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
        cluster=Cluster(nodes=nodes),
        topologies=request.topologies,
        assignment=FrozenMap(assignment),
        metrics=measure(world.layout, world.spans[first:], dead),
        profiles=request.profiles,
    )

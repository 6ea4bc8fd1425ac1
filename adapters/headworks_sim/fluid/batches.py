"""Micro-batches of the simulated engine: the tuples of a batch are completed in the time that the batch takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np

from headworks.model.topology import CORE

if TYPE_CHECKING:
    from headworks.problem.arrays.batches import Batch
    from headworks_sim.fluid.layout import Ints
    from headworks_sim.fluid.timing import Timing


def batch_seconds(batch: Batch, node_of: Ints, load: float, timing: Timing) -> float:
    """Seconds of a batch: those of its planning, and stage after stage of the slowest node.

    A stage works on what came while it fetches the rest, so that the longer of both counts.

    Args:
        batch: At nominal rates.
        node_of: int64 (n,), node of each task; one that does not run takes no time.
        load: Multiple of its nominal tuples.
        timing: What planning and each task take, and what a network carries.
    """
    demand = batch.demand * load + timing.task * CORE / batch.interval
    loaded = attrs.evolve(batch.beside(node_of), demand=demand)
    seconds = timing.planning
    for stage in range(len(batch.stages)):
        fetches = batch.fetch(stage, node_of) * load / timing.goodput
        seconds += float(np.maximum(fetches, loaded.run(stage, node_of)).max(initial=0.0))
    return seconds

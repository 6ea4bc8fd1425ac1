"""Algorithm 1, FirstAssignment: one task of each component, on the machine where it needs least."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headworks_hetero.graph import Graph

if TYPE_CHECKING:
    from headworks.toolbox.instance_counts import InstanceCounts


def first_assignment(
    instances: InstanceCounts, rate: float, *, given: bool, downstream: str = "components"
) -> tuple[Graph, int | None]:
    """Map one task of each component on the machine of least TCU; ties by index.

    Machines may be over-utilised by it, as printed. A component with tasks that may not move has all its tasks from
    the beginning, one that cannot have so few has the fewest that it can, and with `given` each has all; those are
    spread: each goes where the load stays lowest.

    Args:
        instances: Components, machines, profiles, and room for tasks.
        rate: R0, tuples/s of the busiest spout.
        given: Whether every component has its stated number of tasks at once.
        downstream: The reading of Eq. 6; see `headworks_hetero.options.Options`.

    Returns:
        The graph, and the first component that no machine takes, None if there is none.
    """
    graph = Graph(instances, downstream)
    final = (
        instances.given
        if given
        else np.where(
            instances.floor.any(axis=1), np.clip(instances.given, instances.least, instances.most), instances.least
        )
    )
    for part, fixed in enumerate(instances.floor.sum(axis=1).tolist()):
        wanted = int(final[part])
        for _ in range(wanted - fixed):
            can = graph.takes(part)
            if not can.any():
                return graph, part
            cost = graph.tcu(part, final, rate)
            if wanted > 1:
                cost = cost + graph.load(rate)
            graph.add(part, int(np.where(can, cost, np.inf).argmin()))
    return graph, None

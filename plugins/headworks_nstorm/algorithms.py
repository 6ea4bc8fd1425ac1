"""The paper's two algorithms: Load Balancing, and Communication Optimization.

The first moves the best executor of the Worker with the highest load to a low-load Worker. The second moves the
executor whose migration saves most traffic between nodes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headworks_nstorm.migration import Migration, best_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headworks_nstorm.cases import Loads
    from headworks_nstorm.gains import Gains
    from headworks_nstorm.migration import Feasibility
    from headworks_nstorm.workers import Workers


def load_balancing(
    movable: NDArray[np.int64], loads: Loads, workers: Workers, gains: Gains, fit: Feasibility
) -> Migration | None:
    """Run Algorithm 1; None where no executor of that Worker has room on a Worker under low load.

    Args:
        movable: Executors that may move, ascending.
        loads: Load of each Worker.
        workers: The Workers.
        gains: C of executors with nodes.
        fit: Room on the Workers with the lowest load of each node (line 3).
    """
    max_load_worker = int(np.where(loads.high, loads.ratio, -1.0).argmax())  # line 1
    executors = movable[workers.of[movable] == max_load_worker]  # line 2
    return best_of(gains.rows(executors), executors, fit)  # lines 4-12


def communication_optimization(
    movable: NDArray[np.int64], gains: Gains, fit: Feasibility, threshold: float
) -> Migration | None:
    """Run Algorithm 2; None (NULL in line 13) where no migration with room gains more than the threshold.

    An executor's ASC depends on the node alone. So the best node of each executor is found for all executors at once,
    and room is looked for only where the ASC is the largest: without room the executor's next best node competes, once.

    Args:
        movable: Executors that may move, ascending.
        gains: C of executors with nodes.
        fit: Room on Workers under low load.
        threshold: threshold_ASC in units of traffic.
    """
    asc, target = np.full(len(movable), -1), np.full(len(movable), -1)
    for group, lowest in fit.groups(movable):
        if (lowest >= 0).any():
            asc[group], target[group] = gains.best(movable[group], lowest >= 0)  # lines 1-8, room apart
    with_room: dict[int, Migration] = {}
    while asc.max(initial=-1) > threshold:  # line 10
        at = int(asc.argmax())  # line 9: the lowest executor among equals
        if at in with_room:
            return with_room[at]
        executor, node = int(movable[at]), int(target[at])
        if (worker := fit.on(executor, node)) >= 0:
            source, gain = int(fit.node_of[executor]), int(asc[at])
            return Migration(executor=executor, source=source, target=node, worker=worker, gain=gain)  # line 11
        one = movable[at : at + 1]
        other = best_of(gains.rows(one), one, fit)
        asc[at] = -1
        if other is not None:
            asc[at], with_room[at] = other.gain, other
    return None  # line 13

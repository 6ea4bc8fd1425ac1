"""Algorithm 1, Load Balancing: the best executor of the Worker with the highest load goes to a low-load Worker."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headworks_nstorm.migration import best_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headworks_nstorm.cases import Loads
    from headworks_nstorm.gains import Gains
    from headworks_nstorm.migration import Feasibility, Migration
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

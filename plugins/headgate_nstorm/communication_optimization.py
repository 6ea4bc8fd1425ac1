"""Algorithm 2, Communication Optimization: the executor whose migration saves most traffic between nodes goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headgate_nstorm.migration import Migration, best_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from headgate_nstorm.cases import Loads
    from headgate_nstorm.gains import Gains
    from headgate_nstorm.migration import Feasibility


def communication_optimization(
    movable: NDArray[np.int64], loads: Loads, gains: Gains, fit: Feasibility, threshold: float
) -> Migration | None:
    """Run Algorithm 2; None (NULL in line 13) where no migration with room gains more than the threshold.

    An executor's ASC depends on the node alone. So the best node of each executor is found for all executors at once,
    and room is looked for only where the ASC is the largest: without room the executor's next best node competes, once.

    Args:
        movable: Executors that may move, ascending.
        loads: Load of each Worker.
        gains: C of executors with nodes.
        fit: Room on the nodes.
        threshold: threshold_ASC in units of traffic.
    """
    if not len(movable):
        return None
    asc, target = gains.best(movable, loads.low)  # lines 1-8, room apart
    with_room: set[int] = set()
    while asc.max() > threshold:  # line 10
        at = int(asc.argmax())  # line 9: the lowest executor among equals
        executor, source = int(movable[at]), int(gains.node_of[movable[at]])
        if at in with_room or fit.on(executor, int(target[at])):
            return Migration(executor=executor, source=source, target=int(target[at]), gain=int(asc[at]))  # line 11
        one = movable[at : at + 1]
        other = best_of(gains.rows(one), one, source, loads.low, fit)
        with_room.add(at)
        asc[at], target[at] = (other.gain, other.target) if other is not None else (-1, -1)
    return None  # line 13

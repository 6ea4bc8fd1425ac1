"""Traffic of one task with each node, as far as its peers are placed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headgate.problem.arrays import Arrays

    Ints = NDArray[np.int64]


def peer_traffic(problem: Arrays, node_of: Ints, task: int) -> Ints:
    """Units that a task exchanges with the tasks on each node, int64 (m,).

    Args:
        problem: The request as arrays.
        node_of: Node index of each task, int64 (n,), -1 for a task without one.
        task: Index of the task; where it is itself does not count.
    """
    found = np.zeros(problem.m, dtype=np.int64)
    blocks, flows = problem.traffic.blocks, problem.traffic.symmetric
    sends = (blocks.source_start <= task) & (task < blocks.source_stop)
    receives = (blocks.target_start <= task) & (task < blocks.target_stop)
    for mine, first, last in (
        (sends, blocks.target_start, blocks.target_stop),
        (receives, blocks.source_start, blocks.source_stop),
    ):
        for at in np.flatnonzero(mine).tolist():
            _count(found, node_of, range(int(first[at]), int(last[at])), int(blocks.rate[at]), task)
    pairs = slice(int(flows.indptr[task]), int(flows.indptr[task + 1]))
    peers = node_of[flows.indices[pairs]]
    np.add.at(found, peers[peers >= 0], flows.rate[pairs][peers >= 0])
    return found


def _count(found: Ints, node_of: Ints, peers: range, rate: int, task: int) -> None:
    there = node_of[peers.start : peers.stop]
    found += rate * np.bincount(there[there >= 0], minlength=len(found))
    if task in peers and node_of[task] >= 0:
        found[node_of[task]] -= rate  # no task sends to itself

"""Traffic between tasks, as integers: uniform streams as blocks, measured flows as sparse rows (CSR)."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import attrs
import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


EXACT_BITS = 46
"""All traffic together is about 2**46 units: sums, and their products with small weights, are exact in float64."""
MAX_EXPONENT = 1000
"""Of `scale`: the least of traffics must not make it infinite."""


@attrs.frozen(eq=False)
class Blocks:
    """Uniform streams. Each task of [source_start, source_stop) sends `rate` to each of [target_start, target_stop).

    All five arrays have one entry a block, int64; `rate` is in units for *one pair* of tasks. A task that is in
    both ranges sends nothing to itself.
    """

    source_start: NDArray[np.int64]
    source_stop: NDArray[np.int64]
    target_start: NDArray[np.int64]
    target_stop: NDArray[np.int64]
    rate: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.rate)

    def __iter__(self) -> Iterator[tuple[int, int, int, int, int]]:
        """Each block: the range of its senders, that of its receivers, and the rate of a pair."""
        columns = (self.source_start, self.source_stop, self.target_start, self.target_stop, self.rate)
        return zip(*(each.tolist() for each in columns), strict=True)


@attrs.frozen(eq=False)
class Sparse:
    """Flows of single pairs in CSR form: row i holds what task i sends. int64 throughout, columns ascending."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int64]
    rate: NDArray[np.int64]

    @cached_property
    def sources(self) -> NDArray[np.int64]:
        """Row of every entry."""
        return np.repeat(np.arange(len(self.indptr) - 1, dtype=np.int64), np.diff(self.indptr))

    @classmethod
    def of(cls, n: int, sources: NDArray[np.int64], targets: NDArray[np.int64], rate: NDArray[np.int64]) -> Sparse:
        """Build from coordinates; entries of one pair add up, and a task's flow to itself is dropped.

        Args:
            rate: Rate of each entry, in units.
        """
        # One int64 key a pair, source * n + target, sorts by row and then by column: CSR order.
        keep = (sources != targets) & (rate > 0)
        key = sources[keep] * n + targets[keep]
        pairs, inverse = np.unique(key, return_inverse=True)
        total = np.zeros(len(pairs), dtype=np.int64)
        np.add.at(total, inverse, rate[keep])
        indptr = np.zeros(n + 1, dtype=np.int64)
        np.cumsum(np.bincount(pairs // n, minlength=n) if n else [], out=indptr[1:])
        return cls(indptr, pairs % n if n else pairs, total)


@attrs.frozen(eq=False)
class Traffic:
    """All traffic between n tasks in integer units; `scale` units are one tuple/s (or byte/s, see `unit`).

    A power of two is chosen as `scale`, so that every sum of rates is exact in int64 and in float64: engines that
    add in different orders agree to the last bit.
    """

    n: int
    blocks: Blocks
    sparse: Sparse
    scale: float = 1.0
    unit: str = "tuples/s"

    @cached_property
    def symmetric(self) -> Sparse:
        """The sparse part with both directions added: entry (i, j) is what i and j exchange."""
        sources, targets = self.sparse.sources, self.sparse.indices
        return Sparse.of(
            self.n,
            np.concatenate([sources, targets]),
            np.concatenate([targets, sources]),
            np.concatenate([self.sparse.rate, self.sparse.rate]),
        )

    @cached_property
    def total(self) -> int:
        """All traffic between different tasks, in units."""
        blocks = self.blocks
        width = (blocks.source_stop - blocks.source_start) * (blocks.target_stop - blocks.target_start)
        # A block of a x b tasks has ab pairs, less one for each task that is on both sides (itself).
        both = np.minimum(blocks.source_stop, blocks.target_stop) - np.maximum(blocks.source_start, blocks.target_start)
        pairs = width - np.maximum(both, 0)
        return int((pairs * blocks.rate).sum()) + int(self.sparse.rate.sum())

    def inter_node(self, node_of: NDArray[np.int64]) -> int:
        """Traffic between tasks on different nodes, in units (Eq. 5.2 of D-Storm).

        Args:
            node_of: Node index of each task, shape (n,); -1 is nowhere, and on no node together with anything.
        """
        # Eq. 5.2: all traffic less that between tasks on one node, which for blocks is one count a node.
        return self.total - int(self.local(node_of).sum())

    def local(self, node_of: NDArray[np.int64]) -> NDArray[np.int64]:
        """Traffic between tasks on one node, in units: int64, one for each node up to the last one in use.

        Args:
            node_of: Node index of each task, shape (n,); -1 is nowhere, and on no node together with anything.
        """
        nodes = node_of + 1  # 0 is nowhere
        size = int(nodes.max(initial=0)) + 1
        found, senders = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
        at = nodes[self.sparse.sources]
        near = at == nodes[self.sparse.indices]
        np.add.at(found, at[near], self.sparse.rate[near])
        blocks = self.blocks
        for a0, a1, b0, b1, rate in blocks:
            # On each node senders * receivers, less the pairs of a task with itself.
            np.add.at(senders, nodes[a0:a1], 1)
            np.add.at(found, nodes[b0:b1], rate * senders[nodes[b0:b1]])
            senders[nodes[a0:a1]] = 0
            np.subtract.at(found, nodes[max(a0, b0) : min(a1, b1)], rate)
        return found[1:]

    @cached_property
    def of_tasks(self) -> NDArray[np.int64]:
        """Traffic that each task sends to all others and receives from them, in units, int64 (2, n)."""
        found, blocks = np.zeros((2, self.n), dtype=np.int64), self.blocks
        np.add.at(found[0], self.sparse.sources, self.sparse.rate)
        np.add.at(found[1], self.sparse.indices, self.sparse.rate)
        for a0, a1, b0, b1, rate in blocks:
            found[0, a0:a1] += rate * (b1 - b0)
            found[1, b0:b1] += rate * (a1 - a0)
            found[:, max(a0, b0) : max(min(a1, b1), max(a0, b0))] -= rate  # no task sends to itself
        return found

    def links(self, node_of: NDArray[np.int64], m: int) -> NDArray[np.int64]:
        """Traffic that leaves each node for others and comes to it from them, in units, int64 (2, m).

        Args:
            m: Number of nodes.
        """
        placed = node_of >= 0
        local = self.local(node_of)
        sums = [np.bincount(node_of[placed], weights=each[placed], minlength=m) for each in self.of_tasks]
        return np.array(sums).astype(np.int64) - np.pad(local, (0, m - len(local)))

    def sent(self, node_of: NDArray[np.int64]) -> NDArray[np.int64]:
        """Traffic that each task sends to tasks on other nodes, in units, int64 (n,).

        Args:
            node_of: Node index of each task, shape (n,); -1 is nowhere, and exchanges nothing.
        """
        found, blocks = np.zeros(self.n, dtype=np.int64), self.blocks
        here, there = node_of[self.sparse.sources], node_of[self.sparse.indices]
        away = (here >= 0) & (there >= 0) & (here != there)
        np.add.at(found, self.sparse.sources[away], self.sparse.rate[away])
        m = int(node_of.max(initial=-1)) + 1
        for a0, a1, b0, b1, rate in blocks:
            there = _count(node_of[b0:b1], m)
            placed = np.flatnonzero(node_of[a0:a1] >= 0) + a0
            found[placed] += rate * (there.sum() - there[node_of[placed]])
        return found

    def between(self, node_of: NDArray[np.int64], m: int) -> NDArray[np.float64]:
        """Traffic from each node to each other one in tuples/s (or bytes/s), shape (m, m); the diagonal is local."""
        matrix = np.zeros((m, m))
        blocks = self.blocks
        for a0, a1, b0, b1, rate in blocks:
            senders, receivers = (_count(node_of[start:stop], m) for start, stop in ((a0, a1), (b0, b1)))
            matrix += rate * np.outer(senders, receivers)
            # No task sends to itself: tasks on both sides of the block were counted once with themselves.
            matrix -= rate * np.diag(_count(node_of[max(a0, b0) : max(min(a1, b1), max(a0, b0))], m))
        sources, targets = node_of[self.sparse.sources], node_of[self.sparse.indices]
        placed = (sources >= 0) & (targets >= 0)
        np.add.at(matrix, (sources[placed], targets[placed]), self.sparse.rate[placed])
        return matrix / self.scale

    def of_task(self, task: int, node_of: NDArray[np.int64], m: int) -> NDArray[np.int64]:
        """Traffic that one task exchanges with the others on each node, both ways, in units, int64 (m,).

        Args:
            task: Index of the task; its own node does not matter.
        """
        found, blocks = np.zeros(m, dtype=np.int64), self.blocks
        sends = (blocks.source_start <= task) & (task < blocks.source_stop)
        receives = (blocks.target_start <= task) & (task < blocks.target_stop)
        for mine, first, last in (
            (sends, blocks.target_start, blocks.target_stop),
            (receives, blocks.source_start, blocks.source_stop),
        ):
            for at in np.flatnonzero(mine).tolist():
                peers, rate = slice(int(first[at]), int(last[at])), int(blocks.rate[at])
                found += rate * _count(node_of[peers], m)
                if peers.start <= task < peers.stop and node_of[task] >= 0:
                    found[node_of[task]] -= rate  # no task sends to itself
        row = slice(int(self.symmetric.indptr[task]), int(self.symmetric.indptr[task + 1]))
        nodes = node_of[self.symmetric.indices[row]]
        np.add.at(found, nodes[nodes >= 0], self.symmetric.rate[row][nodes >= 0])
        return found


def _count(node_of: NDArray[np.int64], m: int) -> NDArray[np.int64]:
    return np.bincount(node_of[node_of >= 0], minlength=m)


Range = tuple[int, int]


def build(
    n: int,
    uniform: Sequence[tuple[Range, Range, float]],
    flows: Sequence[tuple[int, int, float]],
    unit: str = "tuples/s",
) -> Traffic:
    """Make the traffic of n tasks.

    Args:
        n: Number of tasks.
        uniform: Index range of the senders, of the receivers, and the rate of one pair.
        flows: Sender, receiver, rate.
        unit: What the rates count.
    """
    uniform = [(a, b, rate) for a, b, rate in uniform if a[0] < a[1] and b[0] < b[1]]
    pair = np.array([rate for _, _, rate in uniform], dtype=np.float64)
    single = np.array([rate for _, _, rate in flows], dtype=np.float64)
    total = math.fsum(rate * (a[1] - a[0]) * (b[1] - b[0]) for a, b, rate in uniform) + math.fsum(single.tolist())
    scale = 2.0 ** min(EXACT_BITS - math.ceil(math.log2(total)), MAX_EXPONENT) if total > 0 else 1.0
    ranges = np.array([[*a, *b] for a, b, _ in uniform], dtype=np.int64).reshape(-1, 4)
    a0, a1, b0, b1 = (np.ascontiguousarray(column) for column in ranges.T)
    blocks = Blocks(a0, a1, b0, b1, _units(pair, scale))
    ends = np.array([[source, target] for source, target, _ in flows], dtype=np.int64).reshape(-1, 2)
    return Traffic(n, blocks, Sparse.of(n, ends[:, 0], ends[:, 1], _units(single, scale)), scale, unit)


def _units(rate: NDArray[np.float64], scale: float) -> NDArray[np.int64]:
    return np.rint(rate * scale).astype(np.int64)

"""What nodes bear of numbers of tasks, with their networks: the same model as the core's, of many choices at once.

Between two nodes goes what shares of tasks say: of a shuffled stream, whose source has a share a of its tasks on a
node and whose target a share b, a * b stays there, a * (1 - b) leaves and b * (1 - a) comes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np

from headworks.model import LOCAL, TUPLE_BYTES
from headworks.model.rates import stream_rates
from headworks.model.scaling import with_instances
from headworks.problem import Problem
from headworks.problem.arrays.profiles import FULL, OVER
from headworks.toolbox.instance_counts import InstanceCounts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Counts = NDArray[np.int64]
    Floats = NDArray[np.float64]

LEAST = 1e-9
"""Percent of a machine, so that the use of a full one is finite."""


@attrs.frozen(eq=False)
class Flow:
    """A stream between two components, by their indices: units a second at the stated rates, and its grouping."""

    source: int
    target: int
    units: float
    grouping: str


@attrs.frozen(eq=False, kw_only=True)
class Network:
    """Numbers of tasks of K components on m nodes, B choices at once, int64 (B, K, m).

    Attributes:
        instances: The choice of instance counts.
        flows: Streams of all topologies.
        limit: float64 (m,), units a second that each node may send, and as many that it may receive.
        transfer: float64 (2, m), percent of each node for a unit that leaves it, and for one that comes.
    """

    instances: InstanceCounts
    flows: tuple[Flow, ...]
    limit: Floats
    transfer: Floats

    @classmethod
    def of(cls, instances: InstanceCounts) -> Network | None:
        """The networks of a request, None where they bound nothing."""
        problem = Problem.of(with_instances(instances.request, {}, priced=True))
        if not problem.is_load_bounded:
            return None
        points = np.maximum(problem.capacity[:, 0], LEAST)
        return cls(
            instances=instances,
            flows=tuple(_flows(problem)),
            limit=problem.link_limit / problem.traffic.scale,
            transfer=FULL * problem.transfer[:, None] * problem.traffic.scale / points,
        )

    def rate(self, counts: Counts) -> Floats:
        """The highest factor of the stated rates that each choice sustains, float64 (B,)."""
        most = self.use(counts).max(axis=1, initial=0.0)
        return np.asarray(np.divide(1.0, most, out=np.full(len(most), np.inf), where=most > 0))

    def use(self, counts: Counts) -> Floats:
        """Share of the CPU and of the network out and in of each node, and of threads, that the stated rates use.

        Of CPU and threads, fixed costs are taken away before: a rate r uses r times as much. float64 (B, 4 m).
        """
        model, moved = self.instances.profiled, self.moved(counts)
        share = model.gain / np.maximum(counts.sum(axis=2), 1)
        each = model.e * share[:, :, None]
        left = np.maximum(self.instances.free, 0.0) - np.einsum("bkm,km->bm", counts, model.met)
        slope = (counts * each).sum(axis=1) + np.einsum("sm,sbm->bm", self.transfer, moved)
        cpu = np.where(left < -OVER * FULL, np.inf, slope / np.maximum(left, LEAST))
        threads = np.where(counts > 0, each / np.maximum(model.limit - model.met, LEAST), 0.0).max(axis=1)
        return np.concatenate([cpu, *(moved / self.limit), threads], axis=1)

    def moved(self, counts: Counts) -> Floats:
        """Units that leave each node, and that come to it, at the stated rates, float64 (2, B, m)."""
        others = self.instances.unprofiled
        every = np.broadcast_to(others, (len(counts), *others.shape)).copy()
        every[:, self.instances.parts] = counts
        total = every.sum(axis=2)
        shares = every / np.maximum(total, 1)[:, :, None]
        found = np.zeros((2, len(counts), others.shape[1]))
        for flow in self.flows:
            sent, come = shares[:, flow.source], _taken(flow, shares[:, flow.target])
            stays = _beside(sent, come) if flow.grouping == LOCAL else sent * come
            units = flow.units * (total[:, flow.target, None] if flow.grouping == "all" else 1.0)
            found += units * (np.array([sent, come]) - stays)
        return found

    def fits(self, counts: Counts, most: int) -> NDArray[np.bool_]:
        """Check that choices keep every limit but those of rates, bool (B,).

        Args:
            counts: Tasks by choice, component and machine.
            most: Tasks that all components may have.
        """
        have, total = self.instances, counts.sum(axis=2)
        came = counts - have.floor
        fits = (came >= 0).all(axis=(1, 2)) & ((came == 0) | have.profiled.covers).all(axis=(1, 2))
        fits &= ((total >= have.least) & (total <= have.most)).all(axis=1) & (total.sum(axis=1) <= most)
        if have.need.any():
            fits &= (np.einsum("bkm,kq->bmq", came, have.need) <= have.room * (1 + 1e-12)).all(axis=(1, 2))
        new = np.zeros((len(counts), counts.shape[2]), dtype=np.int64)
        for topology in np.unique(have.topology):
            new += (came[:, have.topology == topology] > 0).any(axis=1) & ~have.present[topology]
        found: NDArray[np.bool_] = fits & (new <= have.slots).all(axis=1)
        return found


def _flows(problem: Problem) -> Iterator[Flow]:
    index = {part: number for number, part in enumerate(problem.components)}
    for topology in problem.request.topologies:
        for stream, rate in zip(topology.streams, stream_rates(topology), strict=True):
            weight = (stream.tuple_bytes or TUPLE_BYTES) if problem.traffic.unit == "bytes/s" else 1.0
            source, target = (index[topology.id, each] for each in (stream.source, stream.target))
            yield Flow(source, target, rate * weight, stream.grouping)


def _taken(flow: Flow, shares: Floats) -> Floats:
    """Share of a stream that the targets on each node take, (B, m)."""
    if flow.grouping != "global":
        return shares
    first = (shares > 0).argmax(axis=1)  # its first task is on the first node in use
    return np.asarray(np.arange(shares.shape[1]) == first[:, None], dtype=np.float64)


def _beside(sent: Floats, come: Floats) -> Floats:
    """Share that stays on each node where every task sends to its part of the targets, in the order of nodes."""
    ends, other = np.cumsum(sent, axis=1), np.cumsum(come, axis=1)
    found: Floats = np.maximum(np.minimum(ends, other) - np.maximum(ends - sent, other - come), 0.0)
    return found

"""Eq. 6 read literally: a component's output is shared evenly by all tasks downstream, whichever component they are of.

The rate of a component then depends on the numbers of tasks. No engine shares output so; `Stream.fanout` says how the
engine does, and a plan is held to that.
"""

from __future__ import annotations

from graphlib import TopologicalSorter
from typing import TYPE_CHECKING

import attrs
import numpy as np

from headworks.model import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from headworks.model import Topology
    from headworks.toolbox.instance_counts import InstanceCounts

Part = tuple[str, str]
"""Topology and component."""


@attrs.frozen(eq=False, kw_only=True)
class ByTask:
    """Components in the order of the streams, each with those that it sends to.

    Attributes:
        order: Every component behind those that send to it.
        targets: Components downstream of each.
        row: Index of each profiled component.
        given: Tasks of each component in the request.
        spouts: Tuples/s of each spout, for 1 tuple/s of the busiest.
        alpha: Tuples emitted for each tuple received.
    """

    order: tuple[Part, ...]
    targets: dict[Part, tuple[Part, ...]]
    row: dict[Part, int]
    given: dict[Part, int]
    spouts: dict[Part, float]
    alpha: dict[Part, float]

    @classmethod
    def of(cls, instances: InstanceCounts) -> ByTask:
        """Read the streams of a request.

        Raises:
            CycleError: Streams form a cycle, in which Eq. 6 has no end.
        """
        topologies = instances.request.topologies
        parts = {(each.id, part.id): part for each in topologies for part in each.components}
        targets = {part: tuple(_targets(each, part)) for each in topologies for part in parts if part[0] == each.id}
        graph: dict[Part, list[Part]] = {part: [] for part in sorted(parts)}
        for source, found in targets.items():
            for target in found:
                graph[target].append(source)
        top = instances.profiled.spout_rate or 1.0
        alphas: dict[Part, list[float]] = {}
        for profile in instances.request.profiles:
            if profile.alpha is not None:
                alphas.setdefault((profile.topology, profile.component), []).append(profile.alpha)
        return cls(
            order=tuple(TopologicalSorter(graph).static_order()),
            targets=targets,
            row={part: row for row, name in enumerate(instances.names()) for part in parts if "/".join(part) == name},
            given={part: each.parallelism for part, each in parts.items()},
            spouts={
                part: (1.0 if each.rate is None else each.rate) / top
                for part, each in parts.items()
                if each.kind is Kind.SPOUT
            },
            alpha={
                part: float(np.mean(alphas[part])) if part in alphas else each.selectivity
                for part, each in parts.items()
            },
        )

    def gains(self, total: NDArray[np.int64]) -> NDArray[np.float64]:
        """Tuples/s of each profiled component for 1 tuple/s of the busiest spout, float64 (K,).

        Args:
            total: Number of tasks of each profiled component, int64 (K,).
        """
        tasks = {part: int(total[self.row[part]]) if part in self.row else self.given[part] for part in self.order}
        rate = dict.fromkeys(self.order, 0.0) | self.spouts
        for part in self.order:
            # OR = IR * alpha; a spout emits what it processes
            output = rate[part] if part in self.spouts else rate[part] * self.alpha[part]
            downstream = sum(max(tasks[target], 1) for target in self.targets[part])
            for target in self.targets[part]:
                rate[target] += output * max(tasks[target], 1) / downstream
        gains = np.zeros(len(total))
        for part, row in self.row.items():
            gains[row] = rate[part]
        return gains


def _targets(topology: Topology, part: Part) -> Iterator[Part]:
    names = {each.target for each in topology.streams if each.source == part[1]}
    return ((topology.id, name) for name in sorted(names))

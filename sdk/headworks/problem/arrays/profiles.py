"""Cost model of profiled components: CPU = e * rate + MET in percent of a machine (heterogeneity paper, Eq. 5).

The tasks of a component share its input evenly (Eq. 6), so that they are interchangeable: a placement is a matrix of
counts by component and node, and the highest rate that it sustains has a closed form. No task uses more of its machine
than its threads can, a core each.
"""

from __future__ import annotations

import math
from collections import defaultdict
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING

import attrs
import numpy as np
from numpy.typing import NDArray

from headworks.model import Kind
from headworks.model.rates import component_rates
from headworks.problem.arrays.arrays import STEP

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headworks.model import Profile, Request, Topology
    from headworks.problem.arrays.arrays import Arrays

FULL = 100.0
"""Percent of a machine."""
OVER = 1e-9
"""Relative excess that is rounding."""


@attrs.frozen(eq=False, kw_only=True)
class Profiled:
    """The profiles of a request as arrays: C components in the order of `Problem.components`, m nodes by id.

    Attributes:
        e: float64 (C, m), percent-seconds for a tuple, 0 where there is no profile.
        met: float64 (C, m), percent that a task takes at any rate, 0 where there is no profile; at most its `limit`.
        limit: float64 (C, m), percent of the node that the threads of a task can use, inf where that is all of it and
            where there is no profile.
        covers: bool (C, m), whether the component has a profile for the node's machine type.
        covered: bool (C,), whether it has one for any.
        gain: float64 (C,), tuples/s that all tasks of the component process at the stated rates of the spouts; a
            spout that states none counts as 1 tuple/s. The `alpha` of profiles, in the mean of machine types, is a
            bolt's selectivity where there is any.
        input_rate: Tuples/s of all spouts together at these rates.
        spout_rate: Tuples/s of the busiest spout.
    """

    e: NDArray[np.float64]
    met: NDArray[np.float64]
    limit: NDArray[np.float64]
    covers: NDArray[np.bool_]
    covered: NDArray[np.bool_]
    gain: NDArray[np.float64]
    input_rate: float
    spout_rate: float

    @classmethod
    def of(cls, request: Request) -> Profiled:
        """Read the profiles of a valid request."""
        nodes = sorted(request.cluster.nodes, key=lambda node: node.id)
        topologies = sorted(request.topologies, key=lambda topology: topology.id)
        types = sorted({node.machine_type or "" for node in nodes})
        column = np.array([types.index(node.machine_type or "") for node in nodes], dtype=np.int64)
        by_part = _by_component(request)
        parts = [(topology.id, name) for topology in topologies for name in sorted(c.id for c in topology.components)]
        shape = (len(parts), len(types))
        e, met, covers = np.zeros(shape), np.zeros(shape), np.zeros(shape, dtype=bool)
        for row, part in enumerate(parts):
            for name, profile in by_part.get(part, {}).items():
                if name in types:
                    at = types.index(name)
                    e[row, at], met[row, at], covers[row, at] = profile.e, profile.met, True
        points = np.array([node.capacity.cpu for node in nodes], dtype=np.float64)
        limit = np.where(covers[:, column], _limits(topologies, points), np.inf)
        rates = [component_rates(_selective(topology, by_part)) for topology in topologies]
        spouts = [
            rate[part.id]
            for topology, rate in zip(topologies, rates, strict=True)
            for part in topology.components
            if part.kind is Kind.SPOUT
        ]
        return cls(
            e=e[:, column],
            met=np.minimum(met[:, column], limit),
            limit=limit,
            covers=covers[:, column],
            covered=np.array([part in by_part for part in parts], dtype=bool),
            gain=np.array([rate[name] for rate in rates for name in sorted(rate)], dtype=np.float64),
            input_rate=math.fsum(spouts),
            spout_rate=max(spouts, default=0.0),
        )

    def load(self, counts: NDArray[np.int64], factor: float) -> NDArray[np.float64]:
        """Percent of each node in use, shape (m,).

        Args:
            counts: Tasks of each component on each node, shape (C, m).
            factor: What the stated rates are multiplied by.
        """
        load: NDArray[np.float64] = factor * self._slope(counts) + (counts * self.met).sum(axis=0)
        return load

    def max_factor(
        self, counts: NDArray[np.int64], free: NDArray[np.float64], moved: NDArray[np.float64] | float = 0.0
    ) -> float:
        """The largest factor at which no node exceeds its `free` percent, shape (m,), and no task its threads.

        0 where fixed costs alone exceed it, or fill a task's threads; infinite where no rate costs anything.

        Args:
            counts: Tasks by component and node, shape (K, m).
            free: Percent of each node, shape (m,).
            moved: Percent of each node that traffic between nodes takes at the stated rates, shape (m,).
        """
        slope, most = self._slope(counts) + moved, self.most_by_threads(counts)
        left = free - (counts * self.met).sum(axis=0)
        if (left < -OVER * FULL).any():
            return 0.0
        works = slope > 0
        return float((np.maximum(left[works], 0.0) / slope[works]).min(initial=most))

    def task_load(self, counts: NDArray[np.int64], factor: float) -> NDArray[np.float64]:
        """Percent of each node that one task of each component needs there, shape (K, m).

        Args:
            counts: Tasks of each component on each node, shape (K, m).
            factor: What the stated rates are multiplied by.
        """
        share = self.gain / np.maximum(counts.sum(axis=1), 1)
        load: NDArray[np.float64] = factor * self.e * share[:, None] + self.met
        return load

    @cached_property
    def threads_bind(self) -> bool:
        """True if some task may fill its threads before its node is full."""
        return bool(np.isfinite(self.limit).any())

    def most_by_threads(self, counts: NDArray[np.int64]) -> float:
        """The largest factor at which no task needs more than its threads can use.

        Args:
            counts: Tasks by component and node, shape (K, m).
        """
        if not self.threads_bind:
            return math.inf
        slope = self.e * (self.gain / np.maximum(counts.sum(axis=1), 1))[:, None]
        works = (counts > 0) & (slope > 0)
        return float(((self.limit - self.met)[works] / slope[works]).min(initial=math.inf))

    def _slope(self, counts: NDArray[np.int64]) -> NDArray[np.float64]:
        share = self.gain / np.maximum(counts.sum(axis=1), 1)
        slope: NDArray[np.float64] = (counts * self.e * share[:, None]).sum(axis=0)
        return slope


def _limits(topologies: Sequence[Topology], points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Percent of each node that a task of each component can use, inf where its threads are all that the node has.

    Args:
        points: CPU points of each node, shape (m,).
    """
    threads = [part.thread_points for each in topologies for part in sorted(each.components, key=lambda part: part.id)]
    own = np.array(threads, dtype=np.float64)[:, None]
    found: NDArray[np.float64] = np.full((len(threads), len(points)), np.inf)
    return np.divide(FULL * own, points, out=found, where=own < points)


def _by_component(request: Request) -> dict[tuple[str, str], dict[str, Profile]]:
    found: dict[tuple[str, str], dict[str, Profile]] = defaultdict(dict)
    for profile in sorted(request.profiles, key=attrgetter("topology", "component", "machine_type")):
        found[profile.topology, profile.component][profile.machine_type] = profile
    return found


def _selective(topology: Topology, profiles: Mapping[tuple[str, str], Mapping[str, Profile]]) -> Topology:
    """The topology with the selectivities that its profiles say."""
    parts = []
    for part in topology.components:
        alphas = [each.alpha for each in profiles.get((topology.id, part.id), {}).values() if each.alpha is not None]
        alpha = math.fsum(alphas) / len(alphas) if alphas else part.selectivity
        parts.append(attrs.evolve(part, selectivity=alpha))
    return attrs.evolve(topology, components=tuple(parts))


def counts_of(problem: Arrays, node_of: NDArray[np.int64]) -> NDArray[np.int64]:
    """Tasks of each component on each node, shape (C, m), of those that are placed."""
    counts = np.zeros((len(problem.components), problem.m), dtype=np.int64)
    placed = node_of >= 0
    np.add.at(counts, (problem.component[placed], node_of[placed]), 1)
    return counts


def unprofiled_load(problem: Arrays, profiled: Profiled, node_of: NDArray[np.int64]) -> NDArray[np.float64]:
    """Percent of each node's CPU that tasks without a profile need, shape (m,)."""
    mine = (node_of >= 0) & ~profiled.covered[problem.component]
    points = np.zeros(problem.m)
    np.add.at(points, node_of[mine], problem.demand[mine, 0])
    whole = problem.capacity[:, 0]
    return np.divide(FULL * points, whole, out=np.where(points > 0, np.inf, 0.0), where=whole > 0)


def load_at(problem: Arrays, node_of: NDArray[np.int64], input_rate: float) -> NDArray[np.float64]:
    """Percent of each node's CPU in use, shape (m,), when all spouts together emit `input_rate` tuples/s."""
    profiled = Profiled.of(problem.request)
    counts = np.where(profiled.covered[:, None], counts_of(problem, node_of), 0)
    factor = input_rate / profiled.input_rate if profiled.input_rate else 0.0
    return profiled.load(counts, factor) + unprofiled_load(problem, profiled, node_of)


def load_with(
    problem: Arrays, node_of: NDArray[np.int64], task: int, input_rate: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Percent of each node's CPU in use without one task, and with it there, each shape (m,); see `load_at`.

    Args:
        node_of: Node index of each task, shape (n,), -1 for a task without one; that of the task does not matter.
    """
    profiled, others, part = Profiled.of(problem.request), node_of.copy(), int(problem.component[task])
    others[task] = -1
    counts = np.where(profiled.covered[:, None], counts_of(problem, others), 0)
    factor = input_rate / profiled.input_rate if profiled.input_rate else 0.0
    # Eq. 6: the share of a task's input is that of all tasks of its component, this one wherever it is among them.
    share = profiled.gain / np.maximum(counts.sum(axis=1) + (np.arange(len(counts)) == part), 1)
    each = factor * profiled.e * share[:, None] + profiled.met
    without = (counts * each).sum(axis=0) + unprofiled_load(problem, profiled, others)
    if profiled.covered[part]:
        return without, without + each[part]
    points, whole = float(problem.demand[task, 0]), problem.capacity[:, 0]
    more = np.divide(FULL * points, whole, out=np.full(problem.m, math.inf if points else 0.0), where=whole > 0)
    return without, without + more


def throughput(problem: Arrays, node_of: NDArray[np.int64]) -> float | None:
    """Tuples/s that the tasks of profiled components process at the highest rate; see `Scores.throughput`."""
    if not problem.request.profiles:
        return None
    profiled = Profiled.of(problem.request)
    counts = counts_of(problem, node_of)
    mine = profiled.covered[problem.component]
    known = not ((counts > 0) & ~profiled.covers & profiled.covered[:, None]).any()
    if not mine.any() or not known or (node_of[mine] < 0).any():
        return None
    moved = FULL * problem.transfer_cpu(node_of) / np.maximum(problem.capacity[:, 0], STEP)
    factor = profiled.max_factor(
        np.where(profiled.covered[:, None], counts, 0), FULL - unprofiled_load(problem, profiled, node_of), moved
    )
    link = float((problem.traffic.links(node_of, problem.m) / problem.link_limit).max(initial=0.0))
    found = min(factor, 1 / link if link else math.inf) * float(profiled.gain[profiled.covered].sum())
    return found if math.isfinite(found) else None

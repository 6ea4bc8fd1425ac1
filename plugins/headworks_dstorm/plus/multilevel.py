"""The multilevel start: tasks that exchange most become one, a placement of few such groups is refined as they divide.

The scheme is that of Karypis, Kumar (1998); `headworks.toolbox.graph` coarsens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np

from headworks.problem import STEP
from headworks.toolbox.graph import graph
from headworks_dstorm.plus.anneal import anneal
from headworks_dstorm.plus.exchange import Exchange

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from headworks.problem import Problem
    from headworks.problem.room.room import Room
    from headworks.toolbox.graph import Graph

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

BY_TASK = ("wanted", "thread_points", "component", "topology", "current", "fixed", "closed")
"""Arrays of which a group has the entry of its first task."""
PAIRS = 2**18
"""Pairs of tasks of streams, at most, that become edges: they are 256 at 16 tasks a side, and 250,000 at 500."""
FEW = 6
"""Groups for each node at which the coarsening ends. With fewer they do not fill nodes; with more, groups that belong
together are apart at the start."""
SLACK = 1.03
"""Share by which a node is fuller than the mean at first, so that a group is not kept out for little."""
SHRINKS = 0.95
"""A level that has more than this share of the one before is the last: hardly anything may still be joined."""
STEPS, MOST = 120, 100_000
"""Steps of annealing for each group of a level, and for a level at most."""
COOL = 0.07
"""First temperature of these. At that of other starts, what the level before has found is lost."""


def multilevel(
    problem: Problem, nodes: Sequence[int], *, node_cost: float | Floats, seed: int, ended: Callable[[], bool] = bool
) -> Ints | None:
    """Place tasks by levels.

    Args:
        problem: The problem.
        nodes: Nodes to fill, in this order.
        node_cost: Units of traffic that a node in use counts as; one, or one of each node, float64 (m,).
        seed: Of all that is random.
        ended: Whether to end now.

    Returns:
        Node index of each task, int64 (n,), -1 where nothing fits; None where streams have too many pairs, a rule
        binds single tasks (a constraint, or the limit on batches), or it was to end before anything was placed.
    """
    if problem.rules or _pairs(problem) > PAIRS:
        return None
    levels = [graph(problem)]
    while len(levels[-1]) > FEW * problem.m and not ended():
        coarser = levels[-1].coarsen()
        if len(coarser) > SHRINKS * len(levels[-1]):
            break
        levels.append(coarser)
    if ended():
        return None
    node_of = np.full(len(levels[-1]), -1, dtype=np.int64)
    while True:
        level = levels.pop()
        coarse = _of_vertices(level)
        node_of = _filled(coarse, node_of, nodes)
        node_of = anneal(
            coarse,
            Exchange(coarse),
            node_of,
            steps=min(STEPS * coarse.n, MOST),
            seed=seed,
            node_cost=node_cost,
            hot=COOL,
            ended=ended,
        )
        of_tasks = node_of[level.vertex]
        if not levels or ended():
            return of_tasks
        node_of = of_tasks[levels[-1].first]


def _filled(problem: Problem, node_of: Ints, nodes: Sequence[int]) -> Ints:
    """Place the tasks without a node: each where its peers are, else node by node those that exchange most."""
    room, flows = problem.room(node_of), problem.traffic.symmetric
    first = (room.node_of < 0).all()
    if not first:
        _join_peers(problem, room)
    total = _sums(flows.sources, flows.rate, problem.n)
    for level in (_level(problem, nodes), 1.0) if first else (1.0,):
        for node in nodes:
            if (room.node_of >= 0).all():
                break
            _grow(problem, room, node, total, level)
    return room.node_of


def _level(problem: Problem, nodes: Sequence[int]) -> float:
    """Share of each node at which nodes are equally full."""
    have = np.maximum(problem.capacity[list(nodes)].sum(axis=0), STEP)
    return min(float((problem.demand.sum(axis=0) / have).max(initial=0.0)) * SLACK, 1.0)


def _join_peers(problem: Problem, room: Room) -> None:
    """Place each task without a node on one where it has peers, largest first, most of its traffic first."""
    size = (problem.demand / np.maximum(problem.capacity.max(axis=0), STEP)).max(axis=1)
    lost = np.flatnonzero(room.node_of < 0)
    for task in lost[np.argsort(-size[lost], kind="stable")].tolist():
        peers, rate = _peers(problem, task)
        at = room.node_of[peers]
        pull = _sums(at[at >= 0], rate[at >= 0], problem.m)
        best = np.argsort(-pull, kind="stable")[: np.count_nonzero(pull)].tolist()
        any(room.place_if_fits(task, node) for node in best)


def _grow(problem: Problem, room: Room, node: int, total: Floats, level: float) -> None:
    """Fill a node to a share, next with what exchanges most with those there, else most at all (`total`)."""
    kept = problem.capacity[node] * (1 - level)
    pull = total / (total.sum() + 1.0)
    for task in np.flatnonzero(room.node_of == node).tolist():
        peers, rate = _peers(problem, task)
        pull[peers] += rate
    waits = room.node_of < 0
    while True:
        worth = np.where(waits & (problem.demand <= room.free[node] - kept).all(axis=1), pull, -1.0)
        task = int(worth.argmax())
        if worth[task] < 0:
            return
        waits[task] = False
        if room.place_if_fits(task, node):
            peers, rate = _peers(problem, task)
            pull[peers] += rate


def _peers(problem: Problem, task: int) -> tuple[Ints, Ints]:
    """Tasks that one exchanges tuples with, and units of each."""
    flows = problem.traffic.symmetric
    row = slice(int(flows.indptr[task]), int(flows.indptr[task + 1]))
    return flows.indices[row], flows.rate[row]


def _pairs(problem: Problem) -> int:
    """Pairs of tasks of streams."""
    blocks = problem.traffic.blocks
    return int(((blocks.source_stop - blocks.source_start) * (blocks.target_stop - blocks.target_start)).sum())


def _of_vertices(level: Graph) -> Problem:
    """The problem with a task in place of each vertex, its first one, and all traffic as flows between pairs."""
    problem, edges = level.problem, level.edges
    blocks = problem.traffic.blocks
    none = attrs.evolve(blocks, **{name: each[:0] for name, each in attrs.asdict(blocks, recurse=False).items()})
    once = edges.sources < edges.indices
    sparse = edges.of(len(level), edges.sources[once], edges.indices[once], edges.rate[once])
    return attrs.evolve(
        problem,
        tasks=tuple(problem.tasks[each] for each in level.first.tolist()),
        demand=level.weights,
        heap=level.heap,
        traffic=attrs.evolve(problem.traffic, n=len(level), blocks=none, sparse=sparse),
        **{name: getattr(problem, name)[level.first] for name in BY_TASK},
    )


def _sums(at: Ints, amounts: Ints | Floats, count: int) -> Floats:
    """Sum of the amounts at each index, float64 (count,)."""
    return np.bincount(at, amounts, minlength=count).astype(np.float64)

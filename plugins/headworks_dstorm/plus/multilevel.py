"""The multilevel start: tasks that exchange most become one, a placement of few such groups is refined as they divide.

After Karypis, Kumar: A Fast and High Quality Multilevel Scheme for Partitioning Irregular Graphs (1998): matching by
heavy edges, here with the rating of Sanders, Schulz (KaFFPa, 2011), rate over the sizes of both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np

from headworks.problem import STEP
from headworks_dstorm.plus.anneal import anneal
from headworks_dstorm.plus.exchange import Exchange

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from headworks.problem import Problem
    from headworks.problem.room.room import Room

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

BY_TASK = ("wanted", "thread_points", "component", "topology", "current", "fixed", "closed")
"""Arrays of which a group has the entry of its first task."""
PAIRS = 2**18
"""Pairs of tasks of streams, at most, that become edges: they are 256 at 16 tasks a side, and 250,000 at 500."""
FEW = 6
"""Groups for each node at which the coarsening ends. With fewer they do not fill nodes; with more, groups that belong
together are apart at the start."""
LARGEST = 0.5
"""Share of a node's capacity that a group may need, so that a node holds two of them."""
SLACK = 1.03
"""Share by which a node is fuller than the mean at first, so that a group is not kept out for little."""
SHRINKS = 0.95
"""A level that has more than this share of the one before is the last: hardly anything may still be joined."""
MATCHINGS = 3
"""Rounds of a matching: each time those that chose each other are joined, and others choose again."""
STEPS, MOST = 120, 100_000
"""Steps of annealing for each group of a level, and for a level at most."""
COOL = 0.07
"""First temperature of these. At that of other starts, what the level before has found is lost."""


def multilevel(
    problem: Problem, nodes: Sequence[int], *, node_cost: int, seed: int, ended: Callable[[], bool] = bool
) -> Ints | None:
    """Place tasks by levels.

    Args:
        problem: The problem.
        nodes: Nodes to fill, in this order.
        node_cost: Units of traffic that a node in use counts as.
        seed: Of all that is random.
        ended: Whether to end now.

    Returns:
        Node index of each task, int64 (n,), -1 where nothing fits; None where streams have too many pairs, a rule
        binds single tasks (a constraint, or the limit on batches), or it was to end before anything was placed.
    """
    coarse = _of_pairs(problem)
    if coarse is None or problem.rules:
        return None
    levels: list[tuple[Problem, Ints]] = []  # a problem and the group of each of its tasks
    while coarse.n > FEW * problem.m and not ended():
        group = _matched(coarse)
        if group.max(initial=0) + 1 > SHRINKS * coarse.n:
            break
        levels.append((coarse, group))
        coarse = _joined(coarse, group)
    if ended():
        return None
    node_of = np.full(coarse.n, -1, dtype=np.int64)
    while True:
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
        if not levels:
            return node_of
        coarse, group = levels.pop()
        node_of = node_of[group]
        if ended():
            for _, group in reversed(levels):
                node_of = node_of[group]
            return node_of


def _filled(problem: Problem, node_of: Ints, nodes: Sequence[int]) -> Ints:
    """Place the tasks without a node: each where its peers are, else node by node those that exchange most."""
    room, flows = problem.room(), problem.traffic.symmetric
    for task in np.flatnonzero((node_of >= 0) & (problem.fixed < 0)).tolist():
        room.place(task, int(node_of[task]))
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


def _of_pairs(problem: Problem) -> Problem | None:
    """The problem with all traffic as flows between pairs, None if there are too many."""
    traffic, blocks = problem.traffic, problem.traffic.blocks
    widths = (blocks.source_stop - blocks.source_start) * (blocks.target_stop - blocks.target_start)
    if widths.sum() > PAIRS:
        return None
    pairs = [
        np.stack([each.ravel() for each in np.mgrid[a0:a1, b0:b1]])
        for a0, a1, b0, b1 in zip(
            blocks.source_start, blocks.source_stop, blocks.target_start, blocks.target_stop, strict=True
        )
    ]
    own = np.stack([traffic.sparse.sources, traffic.sparse.indices])
    sources, targets = np.concatenate([*pairs, own], axis=1).astype(np.int64)
    rate = np.concatenate([np.repeat(blocks.rate, widths), traffic.sparse.rate])
    none = attrs.evolve(blocks, **{name: each[:0] for name, each in attrs.asdict(blocks, recurse=False).items()})
    sparse = traffic.sparse.of(problem.n, sources, targets, rate)
    return attrs.evolve(problem, traffic=attrs.evolve(traffic, blocks=none, sparse=sparse))


def _matched(problem: Problem) -> Ints:
    """Group of each task: pairs that exchange most for their size, and single tasks; numbers ascend with tasks."""
    flows = problem.traffic.symmetric
    most = problem.capacity.max(axis=0, initial=0.0) * LARGEST
    sizes = (problem.demand / np.where(most > 0, most, 1.0)).max(axis=1, initial=0.0)
    mean = sizes.mean() or 1.0
    weight = np.maximum(sizes, mean / 8)
    one, two = flows.sources, flows.indices
    rating = flows.rate / (weight[one] * weight[two])
    may = (problem.fixed[one] < 0) & (problem.fixed[two] < 0) & (problem.topology[one] == problem.topology[two])
    may &= (problem.demand[one] + problem.demand[two] <= most).all(axis=1)
    may &= problem.heap[one] + problem.heap[two] <= problem.heap_limit[problem.topology[one]] * LARGEST
    one, two, rating = one[may], two[may], rating[may]
    mate = np.arange(problem.n)
    for _ in range(MATCHINGS):
        free = (mate[one] == one) & (mate[two] == two)
        one, two, rating = one[free], two[free], rating[free]
        if not len(one):
            break
        choice = _best(one, two, rating, problem.n)
        chose = np.flatnonzero(choice >= 0)
        both = chose[choice[choice[chose]] == chose]
        mate[both] = choice[both]
    _, group = np.unique(np.minimum(mate, np.arange(problem.n)), return_inverse=True)
    return group.reshape(-1).astype(np.int64)


def _best(one: Ints, two: Ints, rating: Floats, n: int) -> Ints:
    """Best peer of each task, -1 for those without; of equals that of a pair with the least key, the same for both."""
    key = np.minimum(one, two) * np.int64(2654435761) % 1_000_003 + np.maximum(one, two)
    order = np.lexsort((key, -rating, one))
    first = order[np.flatnonzero(np.diff(one[order], prepend=-1))]
    found = np.full(n, -1, dtype=np.int64)
    found[one[first]] = two[first]
    return found


def _joined(problem: Problem, group: Ints) -> Problem:
    """The problem of groups in place of tasks."""
    count = int(group.max()) + 1
    _, first = np.unique(group, return_index=True)
    demand = np.stack([_sums(group, column, count) for column in problem.demand.T], axis=1)
    sparse = problem.traffic.sparse
    flows = sparse.of(count, group[sparse.sources], group[sparse.indices], sparse.rate)
    return attrs.evolve(
        problem,
        tasks=tuple(problem.tasks[each] for each in first.tolist()),
        demand=demand,
        heap=_sums(group, problem.heap, count),
        traffic=attrs.evolve(problem.traffic, n=count, sparse=flows),
        **{name: getattr(problem, name)[first] for name in BY_TASK},
    )


def _sums(at: Ints, amounts: Ints | Floats, count: int) -> Floats:
    """Sum of the amounts at each index, float64 (count,)."""
    return np.bincount(at, amounts, minlength=count).astype(np.float64)

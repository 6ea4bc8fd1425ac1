"""Equal tasks: those that may change places without a figure of the plan changing, but for moves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headworks.problem.arrays.arrays import Arrays
from headworks.problem.arrays.build import build
from headworks.problem.arrays.traffic import Sparse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from headworks.problem.arrays.batches import Batch
    from headworks.problem.arrays.traffic import Traffic

    Ints = NDArray[np.int64]
    Values = NDArray[np.int64] | NDArray[np.float64]


def kinds(problem: Arrays, tasks: Ints) -> Ints:
    """Kind of each of some tasks: equal tasks have the same one.

    They are of one component, need the same, and exchange the same with each other task, declared and measured. Those
    of sequential topologies have as much state, and no task of another kind is between them: a batch depends on the
    order of its tasks.

    Args:
        tasks: Indices of the tasks, int64 (k,), ascending.

    Returns:
        Numbers of kinds, int64 (k,).
    """
    measured = _measured(problem)
    kind = problem.component[tasks]
    for column in _columns(problem, measured, tasks):
        kind = _divided(kind, column)
    for traffic in dict.fromkeys((problem.traffic, measured.traffic)):
        kind = _by_flows(traffic, kind, tasks)
    return kind


def _measured(problem: Arrays) -> Arrays:
    """The arrays by which a plan is scored in the end."""
    metrics = problem.request.metrics
    if problem.measured or not (metrics.tasks or metrics.flows or metrics.streams):
        return problem
    known: Arrays | None = problem.request.views.get(True)
    return build(Arrays, problem.request, measured=True) if known is None else known


def _columns(problem: Arrays, measured: Arrays, tasks: Ints) -> Iterator[Values]:
    """Numbers in which equal tasks do not differ, shape (k,) each."""
    for arrays in dict.fromkeys((problem, measured)):
        yield from arrays.demand[tasks].T
        yield _segments(arrays.traffic)[tasks]
    for batch in problem.batches:
        yield _turns(batch)[tasks]
        yield batch.state[tasks]


def _segments(traffic: Traffic) -> Ints:
    """Number of each task's segment: all tasks of one are in the same uniform streams, int64 (n,)."""
    blocks = traffic.blocks
    edges = np.concatenate([blocks.source_start, blocks.source_stop, blocks.target_start, blocks.target_stop])
    return np.cumsum(np.bincount(edges, minlength=traffic.n + 1)[: traffic.n] > 0)


def _turns(batch: Batch) -> Ints:
    """Number of each task's run of tasks with as much work, in order of the tasks, int64 (n,)."""
    return np.cumsum(np.diff(batch.demand, prepend=batch.demand[:1]) != 0)


def _divided(kind: Ints, column: Values) -> Ints:
    """Kinds of which no two tasks differ in a column."""
    first = np.zeros(int(kind.max(initial=0)) + 1, dtype=column.dtype)
    first[kind] = column
    if (first[kind] == column).all():  # mostly: then nothing has to be sorted
        return kind
    _, value = np.unique(column, return_inverse=True)
    _, found = np.unique(kind * (int(value.max()) + 1) + value, return_inverse=True)
    divided: Ints = found.astype(np.int64)
    return divided


def _by_flows(traffic: Traffic, kind: Ints, tasks: Ints) -> Ints:
    """Kinds of which no two tasks differ in what they send to, or receive from, any task."""
    sent = traffic.sparse
    if not len(sent.rate) or len(np.unique(kind)) == len(kind):
        return kind
    received = Sparse.of(traffic.n, sent.indices, sent.sources, sent.rate)
    for flows in (sent, received):
        kind = _divided(kind, _rows(flows, kind, tasks))
    return kind


def _rows(flows: Sparse, kind: Ints, tasks: Ints) -> Ints:
    """A number for each task, the same for two of one kind only if their rows of flows are equal, int64 (k,)."""
    size = np.diff(flows.indptr)[tasks]
    several = np.bincount(kind)[kind] > 1
    found = np.zeros(len(tasks), dtype=np.int64)
    for width in np.unique(size[several & (size > 0)]).tolist():
        rows = np.flatnonzero(several & (size == width))
        at = flows.indptr[tasks[rows]][:, None] + np.arange(width)
        _, number = np.unique(np.hstack([flows.indices[at], flows.rate[at]]), axis=0, return_inverse=True)
        found[rows] = number.reshape(-1) + 1 + int(found.max(initial=0))
    return found

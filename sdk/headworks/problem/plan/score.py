"""Every figure that tables show, computed in one place for every scheduler alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headworks.model import FrozenMap, Scores, Slot
from headworks.problem.arrays.arrays import STEP
from headworks.problem.arrays.batches import batch_seconds
from headworks.problem.arrays.profiles import FULL, Profiled, counts_of, load_at, throughput
from headworks.problem.rules.violations import penalty

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headworks.problem.arrays.arrays import Arrays


def score(problem: Arrays, assignment: FrozenMap[str, Slot], input_rate: float | None = None) -> Scores:
    """Score an assignment; see `Scores` for the meaning of each figure.

    With an input rate (`Plan.input_rate`), CPU use is what profiles say at that rate, and traffic, stated or measured,
    is at that rate too.

    Args:
        input_rate: Input rate that the plan names, None for the stated one.
    """
    node_of = problem.node_of(assignment)
    scale = problem.traffic.scale
    inter, total = problem.traffic.inter_node(node_of), problem.traffic.total
    used = np.unique(node_of[node_of >= 0])
    # finite where a node has nothing of a resource that it is using
    ratio = problem.used(node_of) / np.maximum(problem.capacity, STEP)
    if input_rate is not None or problem.transfer.any():
        ratio[:, 0] = _cpu(problem, node_of, input_rate)
    at_rate = _at_rate(problem, input_rate)
    batch, state = batch_seconds(problem.batches, node_of)
    return Scores(
        unit=problem.traffic.unit,
        traffic=total / scale * at_rate,
        inter_node=inter / scale * at_rate,
        share=inter / total if total else 0.0,
        nodes_used=len(used),
        workers=len(set(assignment.values())),
        cost=_cost(problem, used),
        fullest_node=float(ratio.max(initial=0.0)),
        fullest_link=(link := fullest_link(problem, node_of, at_rate)),
        factor=_factor(
            ratio[:, 0],
            link if np.isfinite(problem.link_limit).any() else 0.0,
            _busiest(problem, node_of, input_rate),
        ),
        balance=_balance(ratio[used, 0]),
        moves=_moves(problem, assignment),
        unplaced=problem.n - len(assignment),
        throughput=throughput(problem, node_of),
        penalty=penalty(problem, assignment),
        batch_seconds=batch,
        state_seconds=state,
    )


def fullest_cpu(problem: Arrays, node_of: NDArray[np.int64], input_rate: float | None = None) -> float:
    """Largest share of a node's CPU in use.

    Args:
        input_rate: Input rate at which profiles price their components, None for demands as they are.
    """
    return float(_cpu(problem, node_of, input_rate).max(initial=0.0))


def _cpu(problem: Arrays, node_of: NDArray[np.int64], input_rate: float | None) -> NDArray[np.float64]:
    """Share of each node's CPU in use, float64 (m,), what traffic between nodes takes there included."""
    have = np.maximum(problem.capacity[:, 0], STEP)
    if input_rate is None:
        return problem.cpu(node_of) / have
    moved = problem.transfer_cpu(node_of) * _at_rate(problem, input_rate)
    return load_at(problem, node_of, input_rate) / FULL + moved / have


def _at_rate(problem: Arrays, input_rate: float | None) -> float:
    """Factor of the stated rates that an input rate is."""
    if input_rate is None:
        return 1.0
    return input_rate / (Profiled.of(problem.request).input_rate or input_rate or 1.0)


def _moves(problem: Arrays, assignment: FrozenMap[str, Slot]) -> int:
    before, runs = problem.request.assignment, np.flatnonzero(problem.current >= 0).tolist()
    return sum(assignment.get(problem.task_ids[task]) != before[problem.task_ids[task]] for task in runs)


def _cost(problem: Arrays, used: NDArray[np.int64]) -> float | None:
    nodes = sorted(problem.request.cluster.nodes, key=lambda node: node.id)
    prices = [nodes[index].price for index in used.tolist()]
    known = [price for price in prices if price is not None]
    return round(sum(known), 9) if len(known) == len(prices) and known else None


def _busiest(problem: Arrays, node_of: NDArray[np.int64], input_rate: float | None) -> float:
    """Largest share of what its threads can use that a placed task needs; above 1 where they are too few."""
    placed = node_of >= 0
    share = float((problem.wanted[placed] / problem.thread_points[placed]).max(initial=0.0))
    if input_rate is None:
        return share
    model, counts = Profiled.of(problem.request), counts_of(problem, node_of)
    load = model.task_load(counts, input_rate / model.input_rate if model.input_rate else 0.0)
    return max(share, float((load / model.limit)[counts > 0].max(initial=0.0)))


def fullest_link(problem: Arrays, node_of: NDArray[np.int64], at_rate: float = 1.0) -> float:
    """Largest load of a node's network, out or in; see `Scores`.

    Args:
        at_rate: What traffic is multiplied by.
    """
    links = problem.traffic.links(node_of, problem.m).max(axis=0, initial=0)
    if np.isfinite(problem.link_limit).any():
        return float((links / problem.link_limit).max(initial=0.0)) * at_rate
    return float(links.max(initial=0.0)) * problem.m / max(problem.traffic.total, 1)  # at each rate the same share


def _factor(cpu: NDArray[np.float64], link: float, threads: float) -> float | None:
    fullest = max(float(cpu.max(initial=0.0)), link, threads)
    return 1.0 / fullest if fullest > 0 else None


def _balance(cpu: NDArray[np.float64]) -> float | None:
    return float(cpu.min() / cpu.max()) if len(cpu) and cpu.max() > 0 else None

"""Comparison of `sps-v2` with `sps` and the optimum: minima that are not honoured."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from headworks_lab.evidence.model import Improvement
from headworks_priority.workloads import USE_CASE_1, USE_CASE_2, use_case

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headworks.model import Plan, Request

INSTANCES = (
    (
        "use-case-1",
        USE_CASE_1,
        10,
        "two fewer than the minima",
        "with fewer nodes than minima `sps` places nothing new",
    ),
    ("use-case-1", USE_CASE_1, 13, "one more than the minima", ""),
    ("table-8", USE_CASE_1, 16, "Table 8", ""),
    ("table-12", USE_CASE_2, 20, "Table 12", ""),
)
"""Name, topologies, nodes, what is special about their number, and a note."""


def improvements() -> Sequence[Improvement]:
    """Nodes that are lacking to minima on each instance."""
    return tuple(
        Improvement(
            id=f"{name}-{nodes}",
            statement=f"nodes lacking to minima, {nodes} nodes ({special})",
            build=partial(use_case, rows, nodes),
            published="sps",
            figure=partial(lacking, {topology: row.minimum for topology, row in rows.items()}),
            bound=least_lacking,
            note=note,
        )
        for name, rows, nodes, special, note in INSTANCES
    )


def lacking(minima: Mapping[str, int], plan: Plan) -> float:
    """Nodes that topologies lack to their minima, counted on the placement.

    Args:
        minima: Minimum nodes (sm) of each topology.
        plan: The plan.
    """
    used: dict[str, set[str]] = {topology: set() for topology in minima}
    for task, slot in plan.assignment.items():
        used[task.partition("/")[0]].add(slot.node)
    return float(sum(max(minimum - len(used[topology]), 0) for topology, minimum in minima.items()))


def least_lacking(request: Request) -> float:
    """Least number of nodes that any plan lacks: the sum of the minima above the nodes, which nobody shares."""
    minima = sum(topology.minimum_nodes or 0 for topology in request.topologies)
    return float(max(minima - len(request.cluster.nodes), 0))

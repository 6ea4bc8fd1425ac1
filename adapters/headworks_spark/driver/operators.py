"""Stateful operators of a streaming query by the stage that they run in, as the plan of its last batch has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterator

STATEFUL = frozenset(
    {
        "StreamingSymmetricHashJoinExec",
        "StateStoreSaveExec",
        "SessionWindowStateStoreSaveExec",
        "StreamingDeduplicateExec",
        "StreamingDeduplicateWithinWatermarkExec",
        "StreamingGlobalLimitExec",
        "FlatMapGroupsWithStateExec",
        "FlatMapGroupsInPandasWithStateExec",
        "TransformWithStateExec",
        "TransformWithStateInPySparkExec",
        "TransformWithStateInPandasExec",
    }
)
"""Operators that write state; those that only read it share the number of one that writes."""
EXCHANGES = frozenset({"ShuffleExchangeExec"})
"""Operators below which another stage of the same job begins."""
OTHER_JOBS = frozenset({"BroadcastExchangeExec", "ReusedExchangeExec"})
"""Operators below which nothing belongs to this job, or is counted already."""


@attrs.frozen
class PlanNode:
    """An operator of a physical plan; `state` is its number among those that keep state, None where it keeps none."""

    name: str
    children: tuple[PlanNode, ...] = ()
    state: int | None = None


def by_stage(plan: PlanNode) -> tuple[tuple[int, ...], ...]:
    """Numbers of the stateful operators of each stage of a plan's job, by the ordinal of the stage.

    RDDs are made from the leaves to the root, children from left to right: so are the stages numbered.
    """
    return (*_below(plan), tuple(_own(plan)))


def _own(node: PlanNode) -> Iterator[int]:
    """Operators of the stage that a node is in."""
    if node.state is not None:
        yield node.state
    for child in node.children:
        if child.name not in EXCHANGES | OTHER_JOBS:
            yield from _own(child)


def _below(node: PlanNode) -> Iterator[tuple[int, ...]]:
    """The stages below the one that a node is in, those that are read first."""
    for child in node.children:
        if child.name in EXCHANGES:
            yield from by_stage(child)
        elif child.name not in OTHER_JOBS:
            yield from _below(child)

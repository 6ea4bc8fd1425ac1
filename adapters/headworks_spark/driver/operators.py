"""Stateful operators of a streaming query by the stage that they run in, as the plan of its last batch has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Part = TypeVar("Part")

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
SCAN = "MicroBatchScanExec"
"""Operator that reads a source."""


@attrs.frozen
class PlanNode:
    """An operator of a physical plan.

    `state` is its number among those that keep state, None where it keeps none. `scan` is what `Driver.leaders` takes,
    None where it reads no source.
    """

    name: str
    children: tuple[PlanNode, ...] = ()
    state: int | None = None
    scan: Any = None


def by_stage(plan: PlanNode) -> tuple[tuple[int, ...], ...]:
    """Numbers of the stateful operators of each stage of a plan's job, by the ordinal of the stage."""
    return _by_stage(plan, lambda node: node.state)


def scans(plan: PlanNode) -> tuple[tuple[Any, ...], ...]:
    """What `Driver.leaders` takes of each stage of a plan's job, by the ordinal of the stage."""
    return _by_stage(plan, lambda node: node.scan)


def _by_stage(plan: PlanNode, part: Callable[[PlanNode], Part | None]) -> tuple[tuple[Part, ...], ...]:
    """Parts of the operators of each stage.

    RDDs are made from the leaves to the root, children from left to right: so are the stages numbered.
    """
    return (*_below(plan, part), tuple(_own(plan, part)))


def _own(node: PlanNode, part: Callable[[PlanNode], Part | None]) -> Iterator[Part]:
    """Parts of the stage that a node is in."""
    if (found := part(node)) is not None:
        yield found
    for child in node.children:
        if child.name not in EXCHANGES | OTHER_JOBS:
            yield from _own(child, part)


def _below(node: PlanNode, part: Callable[[PlanNode], Part | None]) -> Iterator[tuple[Part, ...]]:
    """The stages below the one that a node is in, those that are read first."""
    for child in node.children:
        if child.name in EXCHANGES:
            yield from _by_stage(child, part)
        elif child.name not in OTHER_JOBS:
            yield from _below(child, part)

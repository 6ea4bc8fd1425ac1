"""When an application gets another node, and when an empty one is given back: pure functions of what a round saw."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from headgate.model import FrozenMap, Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headgate.model import Observation
    from headgate.record import Round


@attrs.frozen(kw_only=True)
class Fleet:
    """How many nodes an application may have, and after how many rounds in a row an empty one is given back."""

    minimum: int = 1
    maximum: int
    idle: int = 2


@attrs.frozen(kw_only=True)
class Scaling:
    """Nodes to add, nodes to drain, and why; neither if nothing is to be done."""

    add: int = 0
    drain: tuple[str, ...] = ()
    why: str = ""


def idle_rounds(seen: Observation, before: Mapping[str, int]) -> FrozenMap[str, int]:
    """For how many rounds in a row each node has hosted no task; an observation without any task counts for none."""
    used = {slot.node for slot in seen.assignment.values()}
    idle = {node.id for node in seen.cluster.nodes} - used
    return FrozenMap({node: before.get(node, 0) + 1 for node in sorted(idle)} if used else {})


def scale(done: Round, seen: Observation, idle: Mapping[str, int], fleet: Fleet) -> Scaling:
    """What to do after a round.

    A node is added when a plan lacked room, or when the analyser called the state `unsatisfactory` and no node is
    empty; one at a time. Else nodes that have been empty for `fleet.idle` rounds are drained, the highest id first.
    """
    nodes = {node.id for node in seen.cluster.nodes}
    lacks = _lacks_room(done) or ("; ".join(done.verdict.reasons) if _is_short(done, nodes, seen) else "")
    if lacks:
        full = len(nodes) >= fleet.maximum
        return Scaling(why=f"{lacks}; {len(nodes)} nodes are all there may be") if full else Scaling(add=1, why=lacks)
    if len(nodes) < fleet.minimum:
        return Scaling(add=fleet.minimum - len(nodes), why=f"{len(nodes)} nodes, at least {fleet.minimum} are asked")
    empty = sorted((node for node in nodes if idle.get(node, 0) >= fleet.idle), reverse=True)
    drain = tuple(empty[: len(nodes) - fleet.minimum])
    return Scaling(drain=drain, why=f"empty for {fleet.idle} rounds" if drain else "")


def _lacks_room(done: Round) -> str:
    if done.plan is None or done.plan.status is not Status.INFEASIBLE:
        return ""
    return "; ".join(reason.message for reason in done.plan.reasons[:3])


def _is_short(done: Round, nodes: set[str], seen: Observation) -> bool:
    used = {slot.node for slot in seen.assignment.values()}
    return done.verdict.state == "unsatisfactory" and nodes <= used

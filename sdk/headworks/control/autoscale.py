"""Autoscaling: pure functions of an observation that add a node to an application or drain an empty one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from headworks.model import FrozenMap, Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headworks.control.journal import Round
    from headworks.model import Observation


FIRST_PAUSE, LONGEST_PAUSE = 8, 64
"""Rounds until nodes that a scheduler left empty may be asked back: doubled each time, up to the second."""
SHORT = ("unsatisfactory", "warn")
"""States of an analyser in which what there is does not suffice: D-Storm's first one, and case 2 of OTD's four."""


@attrs.frozen(kw_only=True)
class Fleet:
    """Limits on an application's nodes, and the rounds in a row after which an empty one is drained."""

    minimum: int = 1
    maximum: int
    idle: int = 2

    @classmethod
    def parse(cls, text: str) -> Fleet:
        """Read MIN:MAX.

        Raises:
            ValueError: It is no such range, or an empty one.
        """
        least, _, most = text.partition(":")
        if not 1 <= int(least) <= int(most):
            raise ValueError(f"{text!r} is no range of nodes")
        return cls(minimum=int(least), maximum=int(most))


@attrs.frozen(kw_only=True)
class ScaleDecision:
    """Nodes to add, nodes to drain, and why; neither if nothing is to be done."""

    add: int = 0
    drain: tuple[str, ...] = ()
    why: str = ""


@attrs.frozen(kw_only=True)
class FleetMemory:
    """State of the autoscaler between two rounds.

    Attributes:
        idle: For how many rounds in a row each empty node has hosted no task.
        enough: Nodes in use when empty ones were given back the last time; 0 if none were, or more were used since.
        wait: Rounds until a state of `SHORT` alone may ask for a node again.
        pause: What `wait` becomes when nodes are given back.
    """

    idle: FrozenMap[str, int] = FrozenMap()
    enough: int = 0
    wait: int = 0
    pause: int = FIRST_PAUSE


def watch(memory: FleetMemory, seen: Observation) -> FleetMemory:
    """The memory after an observation; one without any task counts for no empty node."""
    used = {slot.node for slot in seen.assignment.values()}
    idle = {node.id for node in seen.cluster.nodes} - used
    rounds = {node: memory.idle.get(node, 0) + 1 for node in sorted(idle)} if used else {}
    if memory.enough and len(used) > memory.enough:
        return FleetMemory(idle=FrozenMap(rounds))
    return attrs.evolve(memory, idle=FrozenMap(rounds), wait=max(memory.wait - 1, 0))


def gave_back(memory: FleetMemory, seen: Observation) -> FleetMemory:
    """The memory after nodes were drained because a scheduler left them empty."""
    used = {slot.node for slot in seen.assignment.values()}
    return attrs.evolve(memory, enough=len(used), wait=memory.pause, pause=min(2 * memory.pause, LONGEST_PAUSE))


def scale(
    done: Round, seen: Observation, memory: FleetMemory, fleet: Fleet, *, waits: Mapping[str, str] = FrozenMap()
) -> ScaleDecision:
    """Decide on nodes to add or drain after a round.

    A node is added when a plan lacked room, or when the analyser called the state one of `SHORT` and no node is
    empty; one at a time. A scheduler that left nodes empty does not get them back at once for such a state:
    else one that packs would be given a node and lose it for ever. Nodes that have been empty for `fleet.idle` rounds
    are drained, the highest id first.

    Args:
        waits: Topologies for which there was no room, and without which the others were planned, with the reason.
    """
    nodes = {node.id for node in seen.cluster.nodes}
    short = "; ".join(done.verdict.reasons) if _is_short(done, nodes, seen) else ""
    lacks = _lacks_room(done) or "; ".join(waits.values()) or ("" if memory.wait else short)
    if lacks:
        full = len(nodes) >= fleet.maximum
        return (
            ScaleDecision(why=f"{lacks}; {len(nodes)} nodes are all there may be")
            if full
            else ScaleDecision(add=1, why=lacks)
        )
    if len(nodes) < fleet.minimum:
        return ScaleDecision(
            add=fleet.minimum - len(nodes), why=f"{len(nodes)} nodes, at least {fleet.minimum} are asked"
        )
    empty = sorted((node for node in nodes if memory.idle.get(node, 0) >= fleet.idle), reverse=True)
    if drain := tuple(empty[: len(nodes) - fleet.minimum]):
        return ScaleDecision(drain=drain, why=f"empty for {fleet.idle} rounds")
    held = f"{short}; nodes were left empty before, another one is asked for in {memory.wait} rounds" if short else ""
    return ScaleDecision(why=held)


def _lacks_room(done: Round) -> str:
    if done.plan is None or done.plan.status is not Status.INFEASIBLE:
        return ""
    return "; ".join(reason.message for reason in done.plan.reasons[:3])


def _is_short(done: Round, nodes: set[str], seen: Observation) -> bool:
    used = {slot.node for slot in seen.assignment.values()}
    return done.verdict.state in SHORT and nodes <= used

"""The resource allocator of Table 3: from numbers of nodes to nodes, and to a worker on one of them for every task."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np

from headworks.toolbox.holding import kind_of
from headworks_priority.claimants import Claimant
from headworks_priority.holding import another_node, by_room

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from headworks.problem import Problem
    from headworks.problem.room.room import Room
    from headworks_priority.options import Selection


@attrs.frozen(kw_only=True)
class Grant:
    """A topology's nodes.

    Attributes:
        claim: What it claims.
        kept: Whether it already runs on as many nodes as it is to have, or can use: it is left as it is (line 8).
        nodes: Its nodes, ascending; none if it gets none.
    """

    claim: Claimant
    kept: bool
    nodes: tuple[int, ...]


def allocate(
    problem: Problem,
    claims: Sequence[Claimant],
    shares: Sequence[int],
    holds: Sequence[NDArray[np.bool_]],
    selection: Selection,
) -> tuple[NDArray[np.int64], NDArray[np.int64], list[Grant]]:
    """Choose nodes and deal the tasks.

    Line 13 of Table 3 goes through all topologies inside each level; here, as is meant, through those of the level.
    A topology uses no more nodes than it has tasks, and none that can hold none of them. Tasks that are not movable
    stay where they run.

    Args:
        problem: The request as arrays.
        claims: Claims of the topologies, by priority and id.
        shares: Number of nodes that each claim is granted.
        holds: Nodes that can hold a task of each claim, bool (m,).
        selection: Nodes of a topology whose number changes: its own first, or by id.

    Returns:
        Node of each task, -1 where its topology has no nodes or they have no room for it; worker of its topology
        for each task, -1 where it stays as it is; and the nodes given.
    """
    room, worker_of = problem.room(), np.full(problem.n, -1)
    wishes = _wishes(problem, claims, shares, holds)
    reserved = _reserved(problem, wishes, selection)
    grants: list[Grant] = []
    for wish in wishes:
        taken = {node for grant in grants for node in grant.nodes}
        grants.append(_serve(problem, room, wish, _preferred(wish, reserved, taken), worker_of))
    granted = {node for grant in grants for node in grant.nodes}
    spare = tuple(node for node in np.flatnonzero(problem.slots > 0).tolist() if node not in granted)
    for grant in grants:
        # Its workers run and may take no more: what it has lost goes to nodes that nobody was granted.
        if grant.nodes and problem.closed[problem.topology == grant.claim.topology].any():
            _deal(problem, room, grant, worker_of, spare)
    return room.node_of, worker_of, grants


@attrs.frozen(kw_only=True)
class _Wish:
    """A topology's claim, the number of nodes it is to have, those it runs on, and those that can hold a task of it."""

    claim: Claimant
    asked: int
    own: tuple[int, ...]
    usable: frozenset[int]


def _wishes(
    problem: Problem, claims: Sequence[Claimant], shares: Sequence[int], holds: Sequence[NDArray[np.bool_]]
) -> list[_Wish]:
    return [
        _Wish(
            claim=claim,
            asked=min(share, int((problem.topology == claim.topology).sum())),
            own=tuple(_own(problem, claim.topology)),
            usable=frozenset(np.flatnonzero(held).tolist()),
        )
        for claim, share, held in zip(claims, shares, holds, strict=True)
    ]


def _own(problem: Problem, topology: int) -> list[int]:
    """Nodes on which a topology runs, those of tasks that cannot leave first."""
    mine = problem.topology == topology
    fixed = set(problem.fixed[mine].tolist())
    return sorted(
        set(problem.current[mine & (problem.current >= 0)].tolist()), key=lambda node: (node not in fixed, node)
    )


def _reserved(problem: Problem, wishes: Sequence[_Wish], selection: Selection) -> dict[int, tuple[int, ...]]:
    """Nodes that each topology has now and may keep: lines 4 and 8, and line 5 where its own come first."""
    nodes: dict[int, tuple[int, ...]] = {}
    taken: set[int] = set()
    # a topology whose number is unchanged leaves CN, unless a more important one has some of its nodes
    for wish in wishes:
        if wish.asked == len(wish.own) and wish.usable.issuperset(wish.own) and taken.isdisjoint(wish.own):
            nodes[wish.claim.topology] = wish.own
            taken.update(wish.own)
    for wish in wishes:
        if wish.claim.topology not in nodes:  # line 5 takes everything from it that can leave
            left = [node for node in wish.own if node in wish.usable and node not in taken]
            stuck = set(problem.fixed[problem.topology == wish.claim.topology].tolist())
            most = max(len(stuck.intersection(left)), wish.asked if selection == "own-first" else 0)
            nodes[wish.claim.topology] = tuple(left[:most])
            taken.update(left[:most])
    return nodes


def _preferred(wish: _Wish, reserved: Mapping[int, tuple[int, ...]], taken: set[int]) -> tuple[int, ...]:
    """Nodes that a topology may be given (line 14), the first ones first: none that a more important one has."""
    others = {node for index, nodes in reserved.items() if index != wish.claim.topology for node in nodes}
    mine = [node for node in reserved[wish.claim.topology] if node not in taken]
    rest = wish.usable.difference(taken, mine)
    return (*mine, *sorted(rest, key=lambda node: (node in others, node)))


def _serve(
    problem: Problem, room: Room, wish: _Wish, preferred: tuple[int, ...], worker_of: NDArray[np.int64]
) -> Grant:
    """Lines 12 to 15 for one topology: it keeps its nodes, or its tasks are dealt anew."""
    mine = np.flatnonzero(problem.topology == wish.claim.topology)
    own = _left_as_it_is(problem, wish)
    if own and set(preferred).issuperset(own):
        _keep(problem, room, mine)
        whole = bool((room.node_of[mine] >= 0).all())
        if len(own) == wish.asked or (whole and another_node(problem, room, mine, preferred) is None):
            grant = Grant(claim=wish.claim, kept=True, nodes=own)
            _deal(problem, room, grant, worker_of)
            return grant
        _clear(problem, room, mine, worker_of)
    return _dealt_anew(problem, room, wish, preferred, worker_of)


def _left_as_it_is(problem: Problem, wish: _Wish) -> tuple[int, ...]:
    """The nodes of a topology that runs on no more than it is to have, ascending; else none.

    Tasks that cannot leave may be on more: then those that can leave have to be on as many of their nodes.
    """
    mine = np.flatnonzero(problem.topology == wish.claim.topology)
    fixed = set(problem.fixed[mine].tolist())
    leave = set(problem.current[mine[(problem.fixed[mine] < 0) & (problem.current[mine] >= 0)]].tolist())
    if len(wish.own) > wish.asked and not (len(leave) <= wish.asked and leave <= fixed):
        return ()
    return tuple(sorted(sorted(wish.own, key=lambda node: (node not in leave, node))[: wish.asked]))


def _keep(problem: Problem, room: Room, mine: NDArray[np.int64]) -> None:
    for task in mine[(problem.current[mine] >= 0) & (problem.fixed[mine] < 0)].tolist():
        room.place(task, int(problem.current[task]))


def _clear(problem: Problem, room: Room, mine: NDArray[np.int64], worker_of: NDArray[np.int64]) -> None:
    for task in mine[(room.node_of[mine] >= 0) & (problem.fixed[mine] < 0)].tolist():
        room.remove(task)
    worker_of[mine] = -1


def _dealt_anew(
    problem: Problem, room: Room, wish: _Wish, preferred: tuple[int, ...], worker_of: NDArray[np.int64]
) -> Grant:
    """Deal to the preferred nodes, or to those with most room if these take more; each node granted takes a task."""
    mine = np.flatnonzero(problem.topology == wish.claim.topology)
    first, roomy = (
        Grant(claim=wish.claim, kept=False, nodes=tuple(sorted(nodes[: wish.asked])))
        for nodes in (preferred, by_room(problem, room, mine, preferred))
    )
    grant, left = first, _deal(problem, room, first, worker_of)
    if left and roomy != first:
        _clear(problem, room, mine, worker_of)
        grant, left_there = roomy, _deal(problem, room, roomy, worker_of)
        if left_there >= left:
            _clear(problem, room, mine, worker_of)
            grant, left_there = first, _deal(problem, room, first, worker_of)
        left = left_there
    return grant if left else attrs.evolve(grant, nodes=_all_used(problem, room, wish, preferred, grant.nodes))


def _all_used(
    problem: Problem, room: Room, wish: _Wish, preferred: tuple[int, ...], granted: tuple[int, ...]
) -> tuple[int, ...]:
    """The granted nodes that have a task, and others for those that have none, as far as a task may go there."""
    mine = np.flatnonzero(problem.topology == wish.claim.topology)
    used = set(room.node_of[mine].tolist())
    nodes = [node for node in granted if node in used]
    while len(used) < wish.asked and (found := another_node(problem, room, mine, preferred)):
        task, node = found
        room.remove(task)
        room.place(task, node)
        used.add(node)
        nodes.append(node)
    return tuple(sorted(nodes))


def _deal(problem: Problem, room: Room, grant: Grant, worker_of: NDArray[np.int64], spare: tuple[int, ...] = ()) -> int:
    """Lines 14 and 15: executors round robin over workers W_ij, workers round robin over nodes.

    A topology has at least one worker a node. Where the node whose turn it is has no room, the next one takes the
    task: Storm itself would overload it; after its own nodes the spare ones. Returns how many tasks none took.
    """
    count, workers = len(grant.nodes), max(grant.claim.workers, len(grant.nodes))
    left, none = 0, set[tuple[int, bytes]]()
    for turn, task in enumerate(np.flatnonzero(problem.topology == grant.claim.topology).tolist()):
        if room.node_of[task] >= 0:
            continue
        worker_of[task] = -1 if grant.kept else turn % workers  # what a kept topology has lost joins what runs
        kind = kind_of(problem, task)
        if kind in none:  # the nodes had no room for one like it, and have less now
            left += 1
            continue
        first = turn % workers % max(count, 1)
        order = (*grant.nodes[first:], *grant.nodes[:first], *spare)
        node = next((each for each in order if room.fits_on(task, each)), None)
        if node is not None:
            room.place(task, node)
            continue
        left += 1
        if not problem.constraints:  # which tasks that come between may open
            none.add(kind)
    return left

"""The resource allocator of Table 3: from numbers of nodes to nodes, and to a worker on one of them for every task."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np

from headworks_priority.claimants import Claimant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from headworks.problem import Problem
    from headworks.problem.room.room import Room
    from headworks_priority.options import Selection


@attrs.frozen(kw_only=True)
class Grant:
    """A topology's nodes.

    Attributes:
        claim: What it claims.
        kept: Whether it already runs on as many nodes as it is to have: it is left as it is (line 8).
        nodes: Its nodes, ascending; none if it gets none.
    """

    claim: Claimant
    kept: bool
    nodes: tuple[int, ...]


def allocate(
    problem: Problem, claims: Sequence[Claimant], shares: Sequence[int], selection: Selection
) -> tuple[NDArray[np.int64], NDArray[np.int64], list[Grant]]:
    """Choose nodes and deal the tasks.

    Line 13 of Table 3 goes through all topologies inside each level; here, as is meant, through those of the level.
    A topology uses no more nodes than it has tasks. Tasks that are not movable stay where they run.

    Args:
        problem: The request as arrays.
        claims: Claims of the topologies, by priority and id.
        shares: Number of nodes that each claim is granted.
        selection: Nodes of a topology whose number changes: its own first, or by id.

    Returns:
        Node of each task, -1 where its topology has no nodes or they have no room for it; worker of its topology
        for each task, -1 where it stays as it is; and the nodes given.
    """
    usable = np.flatnonzero(problem.slots > 0).tolist()
    grants = _choose(problem, claims, shares, usable, selection)
    room, worker_of = problem.room(), np.full(problem.n, -1)
    for grant in grants:
        if grant.kept:
            _keep(problem, room, grant.claim.topology)
    granted = {node for grant in grants for node in grant.nodes}
    spare = tuple(node for node in usable if node not in granted)
    for grant in grants:
        if grant.nodes:
            # Its workers run and may take no more: what it has lost goes to nodes that nobody was granted.
            closed = bool(problem.closed[problem.topology == grant.claim.topology].any())
            _deal(problem, room, grant, worker_of, spare if closed else ())
    return room.node_of, worker_of, grants


def _choose(
    problem: Problem, claims: Sequence[Claimant], shares: Sequence[int], usable: list[int], selection: Selection
) -> list[Grant]:
    """Lines 1 to 11, and the nodes of line 14."""
    asked = {
        claim.topology: min(share, int((problem.topology == claim.topology).sum()))
        for claim, share in zip(claims, shares, strict=True)
    }
    own = {claim.topology: _own(problem, claim.topology) for claim in claims}
    # lines 4 and 8: a topology whose number is unchanged leaves CN, unless a more important one has some of its nodes
    nodes: dict[int, list[int]] = {}
    taken: set[int] = set()
    for index in asked:
        if asked[index] == len(own[index]) and taken.isdisjoint(own[index]):
            nodes[index] = list(own[index])
            taken.update(own[index])
    kept = set(nodes)
    changed = [claim.topology for claim in claims if claim.topology not in kept]
    for index in changed:
        nodes[index] = []  # line 5 takes everything from it
        if selection == "own-first":
            nodes[index] = [node for node in own[index] if node not in taken][: asked[index]]
            taken.update(nodes[index])
    stuck = _stuck(problem)
    for index in changed:
        free = sorted(
            (node for node in usable if node not in taken), key=lambda node: (stuck.get(node, index) != index, node)
        )
        more = free[: asked[index] - len(nodes[index])]
        nodes[index] += more
        taken.update(more)
    return [
        Grant(claim=claim, kept=claim.topology in kept, nodes=tuple(sorted(nodes[claim.topology]))) for claim in claims
    ]


def _own(problem: Problem, topology: int) -> list[int]:
    """Nodes on which a topology runs, those of tasks that cannot leave first."""
    mine = problem.topology == topology
    fixed = set(problem.fixed[mine].tolist())
    return sorted(
        set(problem.current[mine & (problem.current >= 0)].tolist()), key=lambda node: (node not in fixed, node)
    )


def _stuck(problem: Problem) -> dict[int, int]:
    """Topology of a task that cannot leave, by node."""
    at = np.flatnonzero(problem.fixed >= 0)
    return dict(zip(problem.fixed[at].tolist(), problem.topology[at].tolist(), strict=True))


def _keep(problem: Problem, room: Room, topology: int) -> None:
    runs = (problem.topology == topology) & (problem.current >= 0) & (problem.fixed < 0)
    for task in np.flatnonzero(runs).tolist():
        room.place(task, int(problem.current[task]))


def _deal(problem: Problem, room: Room, grant: Grant, worker_of: NDArray[np.int64], spare: tuple[int, ...]) -> None:
    """Lines 14 and 15: executors round robin over workers W_ij, workers round robin over nodes.

    A topology has at least one worker a node. Where the node whose turn it is has no room, the next one takes the
    task: Storm itself would overload it; after its own nodes the spare ones.
    """
    count, workers = len(grant.nodes), max(grant.claim.workers, len(grant.nodes))
    for turn, task in enumerate(np.flatnonzero(problem.topology == grant.claim.topology).tolist()):
        if room.node_of[task] >= 0:
            continue
        worker_of[task] = -1 if grant.kept else turn % workers  # what a kept topology has lost joins what runs
        first = turn % workers % count
        order = (*grant.nodes[first:], *grant.nodes[:first], *spare)
        node = next((each for each in order if room.fits_on(task, each)), None)
        if node is not None:
            room.place(task, node)

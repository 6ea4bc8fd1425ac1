"""Pairs of components that share no worker, as few groups: in a group no two do.

A topology may name every pair of a hundred components. As a constraint each, they would be thousands, which take the
time of a round that is for all topologies.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from collections.abc import Set as AbstractSet

    Others = Mapping[str, AbstractSet[str]]

MOST = 100
"""Groups of a topology."""


def exclusive_groups(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, ...]]:
    """Groups that hold all pairs: each pair alone where there are few, else those that hang together completely.

    Where even these are too many, components that hang together at all are one group. That keeps more of them apart
    than was asked for, and every pair that was.
    """
    few = sorted({(min(pair), max(pair)) for pair in pairs})
    if len(few) <= MOST:
        return list(few)
    others: dict[str, set[str]] = defaultdict(set)
    for one, other in few:
        others[one].add(other)
        others[other].add(one)
    found = _complete(few, others)
    return found if len(found) <= MOST else _connected(others)


def _complete(pairs: Iterable[tuple[str, str]], others: Others) -> list[tuple[str, ...]]:
    """Groups of which every pair was named, the largest that a pair grows to, as long as they are not too many."""
    left, found = dict.fromkeys(pairs), list[tuple[str, ...]]()
    while left and len(found) <= MOST:
        group = list(next(iter(left)))
        common = others[group[0]] & others[group[1]]
        while common:
            group.append(min(common))
            common = common & others[group[-1]]
        group.sort()
        for index, one in enumerate(group):
            for other in group[index + 1 :]:
                left.pop((one, other), None)
        found.append(tuple(group))
    return found


def _connected(others: Others) -> list[tuple[str, ...]]:
    """Components that hang together by any pairs."""
    seen, found = set[str](), list[tuple[str, ...]]()
    for start in sorted(others):
        if start not in seen:
            group, edge = {start}, [start]
            while edge:
                new = others[edge.pop()] - group
                group |= new
                edge += new
            seen |= group
            found.append(tuple(sorted(group)))
    return found

"""Measured figures of papers, from a table for each kind of figure."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from headworks_lab.evidence.model import Claim

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from headworks_lab.evidence.model import Interval

    Row = tuple[str, str, float | str]
    Group = tuple[Sequence[Row], str, str, Callable[[str], float | Interval], str]


def live_claims(groups: Iterable[Group], less: Collection[str] = ()) -> tuple[Claim, ...]:
    """Claims that a run of a real engine measures.

    Args:
        groups: Rows of topology, source and what is printed; the kind of figure for the id; its statement; what
            measures it of a topology; and the note.
        less: Ids of those of which an upper bound is printed.
    """
    return tuple(
        Claim(
            id=(name := f"{figure}-live-{topology}"),
            source=source,
            statement=f"{statement}, {topology}",
            printed=printed,
            verify=functools.partial(measure, topology),
            measured=True,
            less=name in less,
            note=note,
        )
        for rows, figure, statement, measure, note in groups
        for topology, source, printed in rows
    )

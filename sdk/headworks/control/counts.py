"""Counts of what goes wrong beside the rounds, in the record of each, with a warning as they grow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from headworks.model import FrozenMap

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headworks.control.round import Round

GOOD = frozenset({"received"})
"""Counts that may grow without a warning."""


class Counts:
    """Reads counts once a round, and knows those of the round before."""

    def __init__(self, read: Callable[[], Mapping[str, int]]) -> None:
        """Take what reads them.

        Args:
            read: Counts since the start, by name; raises nothing.
        """
        self._read = read
        self._before: Mapping[str, int] = {}

    def add(self, done: Round) -> Round:
        """The round with the counts, and with a warning that names those that have grown since the last one."""
        now = FrozenMap(self._read())
        grown = {name: count - self._before.get(name, 0) for name, count in now.items() if name not in GOOD}
        said = ", ".join(f"{count} more {name}" for name, count in grown.items() if count > 0)
        self._before = now
        warnings = (*done.warnings, f"since the last round: {said}") if said else done.warnings
        return attrs.evolve(done, counts=now, warnings=warnings)

"""Claims and improvements by the plugin that they are about, named in entry-point groups of the laboratory.

An entry is the plugin's name and a function without arguments: its answer is a sequence of claims, or of improvements.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from headworks.errors import PluginError
from headworks.plugins.guard import guarded
from headworks.plugins.loading import found, imported, twice
from headworks_lab.evidence.model import Claim, Improvement

if TYPE_CHECKING:
    from collections.abc import Iterable

CLAIMS = "headworks.claims"
"""Figures that this code recomputes."""
MEASURED = "headworks.measured_claims"
"""Figures that real engines measure."""
IMPROVEMENTS = "headworks.improvements"
"""Variants beside the published scheduler."""

T = TypeVar("T", Claim, Improvement)


def claims(plugin: str) -> tuple[Claim, ...]:
    """Printed figures of a plugin's paper that are recomputed."""
    return _named(CLAIMS, plugin, Claim)


def measured_claims(plugin: str) -> tuple[Claim, ...]:
    """Printed figures of a plugin's paper that real engines measure."""
    return _named(MEASURED, plugin, Claim)


def improvements(plugin: str) -> tuple[Improvement, ...]:
    """Improvements that a plugin shows."""
    return _named(IMPROVEMENTS, plugin, Improvement)


def with_evidence() -> tuple[str, ...]:
    """Names of the plugins with claims or improvements, sorted."""
    return tuple(sorted({*found(CLAIMS), *found(IMPROVEMENTS)}))


def _named(group: str, plugin: str, kind: type[T]) -> tuple[T, ...]:
    entries = found(group).get(plugin, ())
    if len(entries) > 1:
        raise PluginError(f"{plugin}, {group}: {twice(plugin, entries)}")
    return tuple(part for entry in entries for part in _answer(entry, plugin, group, kind))


def _answer(entry: Any, plugin: str, group: str, kind: type[T]) -> Iterable[T]:
    function = imported(entry)
    with guarded(plugin, group):
        parts = tuple(function())
    for part in parts:
        if not isinstance(part, kind):
            raise PluginError(f"{plugin}: {entry.value} answers a {type(part).__name__}, a {kind.__name__} is expected")
    return parts

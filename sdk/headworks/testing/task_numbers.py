"""The rule for schedulers that choose numbers of tasks: what components cannot have while they run is not asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headworks.testing.rule import rule

if TYPE_CHECKING:
    from headworks.model import Component, Request
    from headworks.plugins.host import PluginHost


def _has_bounds(request: Request) -> bool:
    parts = (part for topology in request.topologies for part in topology.components)
    return any(part.min_parallelism is not None or part.max_parallelism is not None for part in parts)


@rule("numbers", "A number of tasks that it chooses is within min_parallelism and max_parallelism.", about=_has_bounds)
def numbers(host: PluginHost, name: str, request: Request) -> str:
    """Look at the numbers of tasks of a plan."""
    chosen = host.schedule(name, request).parallelism
    parts = {f"{topology.id}/{part.id}": part for topology in request.topologies for part in topology.components}
    said = (_beyond(parts[each], count) for each, count in sorted(chosen.items()) if each in parts)
    return next((f"{name} plans {each}" for each in said if each), "")


def _beyond(part: Component, count: int) -> str:
    """Sentence for a number that is beyond the bounds of a component, "" for none; to come closer to them is none."""
    if part.max_parallelism is not None and count > max(part.max_parallelism, part.parallelism):
        return f"{count} tasks of {part.id}, which can have {part.max_parallelism} at most"
    if part.min_parallelism is not None and count < min(part.min_parallelism, part.parallelism):
        return f"{count} tasks of {part.id}, which has to have {part.min_parallelism} at least"
    return ""

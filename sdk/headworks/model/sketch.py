"""The picture of an assignment alone, for a notebook: the nodes in use, and the tasks on them."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from headworks.model.cluster import Slot

COLOURS = ("#2f6f9f", "#d9822b", "#4c9a52", "#8e5ea2", "#b3453f", "#5f7f8f", "#a08a2a", "#c06c9a")
"""Colours of components, in order of their names."""
NODES, TASKS = 24, 400
"""With more nodes or tasks than these there is no picture: nobody would find one in it."""
CELL, GAP, PAD, HEAD, COLUMNS, WIDTH = 22, 3, 8, 24, 8, 760


def sketch(assignment: Mapping[str, Slot]) -> str:
    """Draw each node as a box, and each task on it as a square in the colour of its component.

    Returns:
        SVG, "" where nothing is placed or too much is.
    """
    nodes: dict[str, list[str]] = {}
    for task, slot in sorted(assignment.items()):
        nodes.setdefault(slot.node, []).append(task)
    if not nodes or len(nodes) > NODES or len(assignment) > TASKS:
        return ""
    components = sorted({task.rpartition("/")[0] for task in assignment})
    wide = COLUMNS * (CELL + GAP) - GAP + 2 * PAD
    deep = max(math.ceil(len(each) / COLUMNS) for each in nodes.values()) * (CELL + GAP) + HEAD + PAD
    across = max(WIDTH // (wide + PAD), 1)
    parts = [
        part
        for number, (name, tasks) in enumerate(sorted(nodes.items()))
        for part in _box(
            name, tasks, components, (number % across * (wide + PAD), number // across * (deep + PAD)), (wide, deep)
        )
    ]
    size = (min(across, len(nodes)) * (wide + PAD), math.ceil(len(nodes) / across) * (deep + PAD))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-1 -1 {size[0]} {size[1]}" width="{size[0]}" '
        f'font-family="system-ui, sans-serif" font-size="11" role="img" aria-label="tasks on nodes">'
        f"{''.join(parts)}</svg>"
    )


def _box(
    name: str, tasks: Sequence[str], components: Sequence[str], at: tuple[int, int], size: tuple[int, int]
) -> Iterator[str]:
    x, y = at
    shown = name if len(name) <= size[0] // 7 else f"{name[: size[0] // 7 - 1]}…"
    yield f'<rect x="{x}" y="{y}" width="{size[0]}" height="{size[1]}" rx="6" fill="none" stroke="#999"/>'
    yield f'<text x="{x + PAD}" y="{y + 16}" fill="currentColor"><title>{escape(name)}</title>{escape(shown)}</text>'
    for place, task in enumerate(tasks):
        left, top = x + PAD + place % COLUMNS * (CELL + GAP), y + HEAD + place // COLUMNS * (CELL + GAP)
        component, _, index = task.rpartition("/")
        colour = COLOURS[components.index(component) % len(COLOURS)]
        yield (
            f'<g><title>{escape(task)}</title><rect x="{left}" y="{top}" width="{CELL}" height="{CELL}" rx="3" '
            f'fill="{colour}"/><text x="{left + CELL / 2:g}" y="{top + CELL / 2 + 4:g}" text-anchor="middle" '
            f'fill="#fff">{escape(index)}</text></g>'
        )

"""Placements as pictures (inline SVG): nodes, the tasks on them, and the traffic between them."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

import attrs
import numpy as np

from headworks.model.sketch import COLOURS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from headworks.model import FrozenMap, Slot
    from headworks.problem import Problem

DETAILED = 24
"""With more nodes, or more than `TASKS` tasks, nodes are squares in a grid, coloured by their load."""
TASKS = 400
BANDS = 5
"""Up to so many boxes in one row, the traffic between nodes is drawn; otherwise each box tells its own."""

WIDEST = 600.0
"""Units of width from which a picture scrolls in a narrow window: smaller text could not be read."""
WIDTH, CELL, GAP, PAD, LINE, HEAD = 1060, 26, 4, 10, 18, 40


@attrs.frozen(kw_only=True)
class _Box:
    """A rectangle with tasks in it: those of a node, or (`node` is -1) those that are nowhere."""

    node: int
    tasks: tuple[int, ...]
    width: float
    height: float
    x: float = 0.0
    y: float = 0.0

    @property
    def middle(self) -> float:
        return self.x + self.width / 2

    @property
    def bottom(self) -> float:
        return self.y + self.height


def placement_svg(problem: Problem, assignment: FrozenMap[str, Slot]) -> str:
    """Draw an assignment.

    In a small cluster each box is a node, as wide as its CPU capacity allows, each cell a task in the colour of
    its component, and each band the traffic between two nodes, as thick as its share of all traffic. Tasks without
    a place are in a box of their own. In a large cluster each square is a node, the fuller the darker.
    """
    node_of = problem.node_of(assignment)
    if problem.m > DETAILED or problem.n > TASKS:
        return _grid(problem, node_of)
    return _boxes(problem, node_of)


def svg(width: float, height: float, parts: Iterable[str], label: str) -> str:
    """One SVG element; `label` is for who cannot see it. A wide one scrolls in a narrow page."""
    look = 'class="wide" ' if width > WIDEST else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" font-size="11" '
        f'{look}font-family="system-ui, sans-serif" role="img" aria-label="{escape(label)}">{"".join(parts)}</svg>'
    )


def _boxes(problem: Problem, node_of: NDArray[np.int64]) -> str:
    names = _component_names(problem)
    keys, top = _legend(names.values())
    boxes = _arranged(_sized(problem, node_of), top)
    matrix = problem.traffic.between(node_of, problem.m)
    one_row = len(boxes) <= BANDS and len({box.y for box in boxes}) == 1
    bands = list(_bands(matrix, boxes, problem.traffic.unit)) if one_row else []
    parts = [
        *keys,
        *bands,
        *(part for box in boxes for part in _box(problem, box, None if one_row else matrix, tuple(names))),
    ]
    width = max([box.x + box.width for box in boxes] + [WIDTH / 2])
    height = max([box.bottom for box in boxes] + [top]) + (_depth(len(boxes) - 1) + LINE if bands else 0)
    return svg(width + PAD, height + PAD, parts, "placement of tasks on nodes")


def _component_names(problem: Problem) -> dict[int, str]:
    """Name of each component that has tasks, with its topology's where there are several; the engine's own are last.

    Colours go by this order: pictures of one topology keep them, whatever an engine adds to it.
    """
    several = len(problem.topology_ids) > 1
    used = sorted(
        set(problem.component.tolist()), key=lambda each: (problem.components[each][1].startswith("__"), each)
    )
    return {index: "/".join(problem.components[index]) if several else problem.components[index][1] for index in used}


def _legend(names: Iterable[str]) -> tuple[list[str], float]:
    """A key of colours, and the y below it."""
    parts, x, y = [], float(PAD), 4.0
    for index, name in enumerate(names):
        wide = 32 + 6.5 * len(name)
        if x > PAD and x + wide > WIDTH:
            x, y = float(PAD), y + LINE
        parts.append(f'<rect x="{x:g}" y="{y:g}" width="12" height="12" rx="2" fill="{_colour(index)}"/>')
        parts.append(f'<text class="load" x="{x + 17:g}" y="{y + 10:g}">{escape(name)}</text>')
        x += wide
    return parts, y + LINE + 4


def _colour(index: int) -> str:
    return COLOURS[index % len(COLOURS)]


def _sized(problem: Problem, node_of: NDArray[np.int64]) -> list[_Box]:
    most = max(problem.capacity[:, 0].max(initial=1.0), 1.0)
    boxes = []
    for node in [*range(problem.m), -1]:
        tasks = np.flatnonzero(node_of == node).tolist()
        if node < 0 and not tasks:
            continue
        columns = max(4, round(8 * problem.capacity[node, 0] / most)) if node >= 0 else 8
        rows = max(2, math.ceil(len(tasks) / columns))
        width, height = columns * (CELL + GAP) - GAP + 2 * PAD, rows * (CELL + GAP) - GAP + HEAD + PAD
        boxes.append(_Box(node=node, tasks=tuple(tasks), width=width, height=height))
    return boxes


def _arranged(boxes: Sequence[_Box], top: float) -> list[_Box]:
    """Boxes side by side, in as many rows as the width asks for; those of a row are equally high."""
    rows: list[list[_Box]] = [[]]
    x = float(PAD)
    for box in boxes:
        if rows[-1] and x + box.width > WIDTH:
            rows.append([])
            x = float(PAD)
        rows[-1].append(attrs.evolve(box, x=x))
        x += box.width + 3 * PAD
    placed, y = [], top
    for row in rows:
        tallest = max((box.height for box in row), default=0.0)
        placed += [attrs.evolve(box, y=y, height=tallest) for box in row]
        y += tallest + PAD
    return placed


def _box(problem: Problem, box: _Box, matrix: NDArray[np.float64] | None, components: Sequence[int]) -> Iterator[str]:
    name = problem.node_ids[box.node] if box.node >= 0 else "not placed"
    # Attributes for whatever shows the picture without the page's style, which overrides them.
    look = f'class="{"node" if box.node >= 0 else "free"}" fill="none" stroke="#bbb"'
    size = f'width="{box.width:g}" height="{box.height:g}"'
    yield f'<rect {look} x="{box.x:g}" y="{box.y:g}" {size} rx="8"><title>{escape(name)}</title></rect>'
    yield f'<text class="name" x="{box.x + PAD:g}" y="{box.y + 18:g}">{escape(_cut(name, box.width))}</text>'
    yield f'<text class="load" x="{box.x + PAD:g}" y="{box.y + 33:g}">{_load(problem, box, matrix)}</text>'
    columns = int((box.width - 2 * PAD + GAP) // (CELL + GAP))
    for place, task in enumerate(box.tasks):
        x = box.x + PAD + (place % columns) * (CELL + GAP)
        colour = _colour(components.index(int(problem.component[task])))
        yield _cell(problem, task, colour, x, box.y + HEAD + (place // columns) * (CELL + GAP))


def _load(problem: Problem, box: _Box, matrix: NDArray[np.float64] | None) -> str:
    """CPU in use; where no bands are drawn, also the traffic from and to other nodes."""
    need = problem.demand[list(box.tasks), 0].sum()
    if box.node < 0:
        return f"CPU {need:.0f}"
    have = problem.capacity[box.node, 0]
    if matrix is None:
        return f"CPU {need:.0f} of {have:.0f}"
    across = matrix[box.node].sum() + matrix[:, box.node].sum() - 2 * matrix[box.node, box.node]
    return f"CPU {need:.0f}/{have:.0f} ⇄ {short(across).strip()}"


def _cell(problem: Problem, task: int, colour: str, x: float, y: float) -> str:
    number = str(problem.tasks[task].index)
    return (
        f'<g><title>{escape(problem.task_ids[task])}</title><rect x="{x:g}" y="{y:g}" width="{CELL}" height="{CELL}" '
        f'rx="4" fill="{colour}"/><text class="task" fill="#fff" x="{x + CELL / 2:g}" '
        f'y="{y + CELL / 2 + 4:g}" text-anchor="middle">{number}</text></g>'
    )


def _cut(name: str, width: float) -> str:
    """As much of a name as a box has room for; the whole is its title."""
    most = int((width - 2 * PAD) / 7)
    return name if len(name) <= most else name[: most - 1] + "…"


def _bands(matrix: NDArray[np.float64], boxes: Sequence[_Box], unit: str) -> Iterator[str]:
    nodes = [box for box in boxes if box.node >= 0]
    total = matrix.sum()
    for one, first in enumerate(nodes):
        for other, second in enumerate(nodes[one + 1 :], start=one + 1):
            amount = matrix[one, other] + matrix[other, one]
            if amount:
                label = f"{short(amount).strip()} {unit}, {amount / total:.0%}"
                yield _band(first, second, _depth(other - one), max(1.5, 24 * amount / total), label)


def _depth(distance: int) -> float:
    """Depth of a band below its boxes, by the places between them."""
    return 40.0 + 34.0 * (distance - 1)


def _band(one: _Box, other: _Box, depth: float, thick: float, label: str) -> str:
    start, stop, bottom = one.middle, other.middle, one.bottom
    low = bottom + depth / 0.75  # a cubic curve comes within 3/4 of its control points
    path = f"M{start:g} {bottom:g} C{start:g} {low:g} {stop:g} {low:g} {stop:g} {bottom:g}"
    return (
        f'<path class="band" d="{path}" fill="none" stroke="#b3453f" stroke-width="{thick:.1f}"/>'
        f'<text class="flow" x="{(start + stop) / 2:g}" y="{bottom + depth - thick / 2 - 5:g}" '
        f'text-anchor="middle">{escape(label)}</text>'
    )


def _grid(problem: Problem, node_of: NDArray[np.int64]) -> str:
    """One square a node: empty nodes are outlines, overloaded ones red."""
    side = 12 if problem.m > 400 else 18
    columns = max(1, min((WIDTH - 2 * PAD) // (side + 3), math.ceil(math.sqrt(problem.m * 2))))
    placed = node_of >= 0
    usage, held = problem.used(node_of), np.bincount(node_of[placed], minlength=problem.m)
    ratio = np.divide(usage, problem.capacity, out=np.zeros_like(usage), where=problem.capacity > 0).max(axis=1)
    parts = [f'<text class="load" x="{PAD}" y="12">{_grid_caption(problem, held)}</text>']
    for node, name in enumerate(problem.node_ids):
        x, y = PAD + (node % columns) * (side + 3), LINE + 4 + (node // columns) * (side + 3)
        title = escape(f"{name}: {held[node]} tasks, {ratio[node]:.0%} full")
        look = _shade(ratio[node]) if held[node] else 'class="free" fill="none" stroke="#bbb"'
        parts.append(
            f'<rect x="{x}" y="{y}" width="{side}" height="{side}" rx="2" {look}><title>{title}</title></rect>'
        )
    rows = math.ceil(problem.m / columns)
    width, height = max(columns * (side + 3), 420) + 2 * PAD, LINE + 4 + rows * (side + 3) + PAD
    return svg(width, height, parts, f"load of {problem.m} nodes")


def _grid_caption(problem: Problem, held: NDArray[np.int64]) -> str:
    missing = problem.n - int(held.sum())
    text = f"{int((held > 0).sum()):,} of {problem.m:,} nodes in use; the fuller, the darker"
    return f"{text}; {missing:,} tasks are not placed" if missing else text


def _shade(ratio: float) -> str:
    colour = COLOURS[0] if ratio <= 1 else COLOURS[4]
    return f'fill="{colour}" fill-opacity="{0.15 + 0.85 * min(ratio, 1.0):.2f}"'


def short(amount: float) -> str:
    """An amount with a unit prefix: 1.2 k, 3.4 M."""
    for limit, prefix in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if abs(amount) >= limit:
            return f"{amount / limit:.1f}{prefix}"
    return f"{amount:.0f} "

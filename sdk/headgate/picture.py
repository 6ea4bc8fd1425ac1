"""Placements as pictures (inline SVG): nodes, the tasks on them, and the traffic between them."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from headgate.model import FrozenMap, Slot
    from headgate.problem import Problem

DETAILED = 12
"""With more nodes, or more than `TASKS` tasks, nodes are squares in a grid, coloured by their load."""
TASKS = 200

COLOURS = ("#2f6f9f", "#d9822b", "#4c9a52", "#8e5ea2", "#b3453f", "#5f7f8f", "#a08a2a", "#c06c9a")
CELL, GAP, PAD, TOP, HEAD, BAND = 26, 4, 10, 26, 40, 150


def placement_svg(problem: Problem, assignment: FrozenMap[str, Slot]) -> str:
    """Draw an assignment.

    In a small cluster each box is a node, as wide as its CPU capacity allows, each cell a task in the colour of
    its component, and each line the traffic between two nodes, as thick as its share of all traffic.
    """
    node_of = problem.node_of(assignment)
    if problem.m > DETAILED or problem.n > TASKS:
        return _grid(problem, node_of)
    return _boxes(problem, node_of)


def _svg(width: float, height: float, parts: Iterator[str], label: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'role="img" aria-label="{escape(label)}">{"".join(parts)}</svg>'
    )


def _boxes(problem: Problem, node_of: NDArray[np.int64]) -> str:
    places = _layout(problem, node_of)
    width = max((x + w for x, _, w, _ in places), default=0) + PAD
    height = max((y + h for _, y, _, h in places), default=0) + BAND + TOP
    return _svg(width, height, _box_parts(problem, node_of, places), "placement of tasks on nodes")


def _layout(problem: Problem, node_of: NDArray[np.int64]) -> list[tuple[float, float, float, float]]:
    """x, y, width, height of each node's box."""
    most = max(problem.capacity[:, 0].max(initial=1.0), 1.0)
    x, boxes = float(PAD), []
    for node in range(problem.m):
        held = int((node_of == node).sum())
        columns = max(4, round(8 * problem.capacity[node, 0] / most))
        rows = max(2, math.ceil(held / columns))
        width, height = columns * (CELL + GAP) + GAP + 2 * PAD, rows * (CELL + GAP) + GAP + HEAD + PAD
        boxes.append((x, float(TOP), float(width), float(height)))
        x += width + 6 * PAD
    tallest = max((height for *_, height in boxes), default=0.0)
    return [(x, y, width, tallest) for x, y, width, _ in boxes]


def _box_parts(
    problem: Problem, node_of: NDArray[np.int64], places: list[tuple[float, float, float, float]]
) -> Iterator[str]:
    used = np.zeros(problem.m)
    np.add.at(used, node_of[node_of >= 0], problem.demand[node_of >= 0, 0])
    for node, (x, y, width, height) in enumerate(places):
        name, have = escape(problem.node_ids[node]), problem.capacity[node, 0]
        yield f'<rect class="node" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="8"/>'
        yield f'<text class="name" x="{x + PAD:g}" y="{y + 18:g}">{name}</text>'
        load = f"CPU {used[node]:.0f} of {have:.0f}"
        yield f'<text class="load" x="{x + PAD:g}" y="{y + 33:g}">{load}</text>'
        yield from _cells(problem, np.flatnonzero(node_of == node).tolist(), x, y, width)
    yield from _bands(problem.traffic.between(node_of, problem.m), places, problem.traffic.unit)
    yield from _legend(problem, places)


def _cells(problem: Problem, tasks: list[int], x: float, y: float, width: float) -> Iterator[str]:
    columns = int((width - 2 * PAD) // (CELL + GAP))
    for place, task in enumerate(tasks):
        left = x + PAD + GAP + (place % columns) * (CELL + GAP)
        top = y + HEAD + (place // columns) * (CELL + GAP)
        colour = COLOURS[int(problem.component[task]) % len(COLOURS)]
        title = escape(problem.task_ids[task])
        yield (
            f'<g><title>{title}</title><rect x="{left:g}" y="{top:g}" width="{CELL}" height="{CELL}" rx="4" '
            f'fill="{colour}"/><text class="task" x="{left + CELL / 2:g}" y="{top + CELL / 2 + 4:g}" '
            f'text-anchor="middle">{problem.tasks[task].index}</text></g>'
        )


def _bands(matrix: NDArray[np.float64], places: list[tuple[float, float, float, float]], unit: str) -> Iterator[str]:
    total = matrix.sum()
    if not total:
        return
    for one in range(len(places)):
        for other in range(one + 1, len(places)):
            amount = matrix[one, other] + matrix[other, one]
            if amount:
                yield _band(places[one], places[other], other - one, amount, total, unit)


def _band(
    one: tuple[float, float, float, float],
    other: tuple[float, float, float, float],
    distance: int,
    amount: float,
    total: float,
    unit: str,
) -> str:
    start, stop, bottom = one[0] + one[2] / 2, other[0] + other[2] / 2, one[1] + one[3]
    depth = bottom + min(38 + 42 * distance, BAND)
    thick = max(1.5, 40 * amount / total)
    middle, low = (start + stop) / 2, (bottom + depth) / 2 + (depth - bottom) / 4
    path = f"M{start:g} {bottom:g} C{start:g} {depth:g} {stop:g} {depth:g} {stop:g} {bottom:g}"
    label = f"{short(amount)} {unit}, {amount / total:.0%}"
    return (
        f'<path class="band" d="{path}" stroke-width="{thick:.1f}"/>'
        f'<text class="flow" x="{middle:g}" y="{low + 4:g}" text-anchor="middle">{label}</text>'
    )


def _legend(problem: Problem, places: list[tuple[float, float, float, float]]) -> Iterator[str]:
    x = float(PAD)
    for index in sorted(set(problem.component.tolist())):
        name = problem.components[index][1]
        colour = COLOURS[index % len(COLOURS)]
        yield f'<rect x="{x:g}" y="4" width="12" height="12" rx="2" fill="{colour}"/>'
        yield f'<text class="load" x="{x + 17:g}" y="14">{escape(name)}</text>'
        x += 30 + 7 * len(name)
    if not places:
        yield '<text class="load" x="10" y="14">the cluster is empty</text>'


def _grid(problem: Problem, node_of: NDArray[np.int64]) -> str:
    """One square a node, the fuller the darker; empty nodes are outlines."""
    columns = max(1, min(64, math.ceil(math.sqrt(problem.m * 2))))
    side = 12 if problem.m > 400 else 18
    usage = np.zeros_like(problem.capacity)
    np.add.at(usage, node_of[node_of >= 0], problem.demand[node_of >= 0])
    ratio = np.divide(usage, problem.capacity, out=np.zeros_like(usage), where=problem.capacity > 0).max(axis=1)
    held = np.bincount(node_of[node_of >= 0], minlength=problem.m)

    def parts() -> Iterator[str]:
        for node in range(problem.m):
            x, y = PAD + (node % columns) * (side + 3), PAD + (node // columns) * (side + 3)
            title = f"{escape(problem.node_ids[node])}: {held[node]} tasks, {ratio[node]:.0%} full"
            fill = f'fill="{COLOURS[0]}" fill-opacity="{0.15 + 0.85 * min(ratio[node], 1):.2f}"'
            look = fill if held[node] else 'class="free"'
            yield f'<rect x="{x}" y="{y}" width="{side}" height="{side}" rx="2" {look}><title>{title}</title></rect>'

    rows = math.ceil(problem.m / columns)
    size = (columns * (side + 3) + 2 * PAD, rows * (side + 3) + 2 * PAD)
    return _svg(*size, parts(), f"load of {problem.m} nodes")


def short(amount: float) -> str:
    """An amount with a unit prefix: 1.2 k, 3.4 M."""
    for limit, prefix in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if abs(amount) >= limit:
            return f"{amount / limit:.1f}{prefix}"
    return f"{amount:.0f} "

"""Algorithm 2 with several tasks of a component at once, as the authors' own code adds them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headworks.problem.arrays.profiles import OVER
from headworks_hetero.graph import LIMIT, Graph
from headworks_hetero.maximize_throughput import STEADY, hottest
from headworks_hetero.options import Options

if TYPE_CHECKING:
    from headworks_hetero.options import PlusOptions

DOUBLINGS = 40
"""Times that the step of the rate is halved; more of them come closer to the highest rate, and take longer."""


def maximize_throughput_in_batches(graph: Graph, options: PlusOptions) -> Graph | None:
    """Algorithm 2 with line 6 taking as many new tasks of the hottest component as find room together.

    Args:
        graph: A first assignment.
        options: First rate, and tasks that may be added at once.
    """
    rate, scale, final, final_rate, reading = options.initial_rate, 1.0, None, 0.0, Options()
    for _ in range(100 * DOUBLINGS):
        load = graph.load(rate)
        if graph.is_stable(load, rate):
            final, final_rate = graph.copy(), rate
            rate += rate / scale
            if rate > STEADY:
                break
            continue
        part = hottest(graph, load, rate, reading)
        more = min(options.max_tasks - int(graph.total.sum()), int(graph.instances.most[part] - graph.total[part]))
        if _add(graph, part, rate, min(options.at_once, more)):
            continue
        if scale > 2**DOUBLINGS or scale > 1000 * rate or final is None:
            break
        scale *= 2
        graph, rate = final.copy(), final_rate * (1 + 1 / scale)
    return final


def _add(graph: Graph, part: int, rate: float, most: int) -> bool:
    """Add the fewest tasks that all find room, machines of least TCU first; False if no number does."""
    takes = graph.takes(part)
    need = graph.instances.need[part]
    wide = np.where(need > 0, np.floor(graph.room / np.where(need > 0, need, 1)), np.inf).min(axis=1, initial=np.inf)
    for count in range(1, most + 1):
        total = graph.total.copy()
        total[part] += count
        tcu, left = graph.tcu(part, total, rate), LIMIT - graph.load_with(total, rate)
        fits = np.floor(np.divide(left, tcu, out=np.full_like(left, most), where=tcu > 0))
        bears = takes & (tcu <= graph.instances.profiled.limit[part] * (1 + OVER))
        fits = np.where(bears, np.clip(np.minimum(fits, wide), 0, count), 0).astype(np.int64)
        if fits.sum() < count:
            continue
        order = np.argsort(tcu, kind="stable")
        for node in np.repeat(order, fits[order])[:count].tolist():
            graph.add(part, node)
        return True
    return False

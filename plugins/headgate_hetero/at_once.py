"""Several tasks of a component at once, and then one exchange after another, as long as the highest rate grows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from headgate.toolbox.instance_counts import InstanceCounts
from headgate_hetero.first_assignment import first_assignment
from headgate_hetero.graph import LIMIT, Graph
from headgate_hetero.maximize_throughput import STEADY, hottest, maximize_throughput
from headgate_hetero.options import Options
from headgate_hetero.packing import packed
from headgate_hetero.pairs import shaken
from headgate_hetero.planning import NO_PROFILES, NO_TUPLES, at_most, highest, steady

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from headgate.model import Plan, Request
    from headgate_hetero.options import PlusOptions

    Counts = NDArray[np.int64]

NO_LIMIT = "these tasks are where no rate costs anything: the highest rate of Algorithm 2 is planned"
DOUBLINGS = 40
"""Times that the step of the rate is halved; more of them come closer to the highest rate, and take longer."""


def improved(request: Request, options: PlusOptions) -> Plan:
    """Plan with the better of Algorithm 2 and of its several-at-once variant, refined.

    Args:
        request: The request.
        options: First rate and budgets of the search.
    """
    instances = InstanceCounts.of(request)
    if not len(instances.parts):
        return instances.others(NO_PROFILES)
    graph, misfit = first_assignment(instances, options.initial_rate, given=False)
    if misfit is not None:
        return instances.refuse(instances.no_machine(misfit))
    if not steady(graph):
        return instances.plan(graph.counts, 1.0, NO_TUPLES)
    printed = maximize_throughput(
        graph.copy(), Options(initial_rate=options.initial_rate, max_tasks=options.max_tasks)
    ).graph
    found = [each for each in (printed, several_at_once(graph.copy(), options)) if each is not None]
    if not found:
        return at_most(instances, graph, f"the first assignment is over-utilised at {options.initial_rate:g} tuples/s")
    best = max(found, key=highest)
    better = packed(instances, highest(best), request.seed, options.trials, options.max_tasks)
    better = best.counts if better is None else better
    better = shaken(instances, better, request.seed, options.exchanges, options.max_tasks)
    counts, rate = refine(instances, better, options.refinements)
    if not math.isfinite(rate):
        return instances.plan(counts, max(highest(best), 1.0), NO_LIMIT)
    return instances.plan(
        counts, rate, f"{int(counts.sum())} tasks; refined from {highest(best) / rate:.1%} of the rate"
    )


def several_at_once(graph: Graph, options: PlusOptions) -> Graph | None:
    """Algorithm 2 with line 6 taking as many new tasks of the hottest component as find room together.

    Args:
        graph: A first assignment.
        options: First rate, and tasks that may be added at once.
    """
    rate, scale, final, final_rate, reading = options.initial_rate, 1.0, None, 0.0, Options()
    for _ in range(100 * DOUBLINGS):
        load = graph.load(rate)
        if load.max(initial=0.0) <= LIMIT:
            final, final_rate = graph.copy(), rate
            rate += rate / scale
            if rate > STEADY:
                break
            continue
        part = hottest(graph, load, rate, reading)
        if int(graph.total.sum()) < options.max_tasks and _add(graph, part, rate, options.at_once):
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
        tcu, left = graph.tcu(part, int(total[part]), rate), LIMIT - graph.load_with(total, rate)
        fits = np.floor(np.divide(left, tcu, out=np.full_like(left, most), where=tcu > 0))
        fits = np.where(takes, np.clip(np.minimum(fits, wide), 0, count), 0).astype(np.int64)
        if fits.sum() < count:
            continue
        order = np.argsort(tcu, kind="stable")
        for node in np.repeat(order, fits[order])[:count].tolist():
            graph.add(part, node)
        return True
    return False


def refine(instances: InstanceCounts, counts: Counts, budget: int) -> tuple[Counts, float]:
    """Exchange tasks of the fullest machine as long as the highest factor grows, trying at most `budget` placements.

    Args:
        instances: Components, machines, profiles, and room for tasks.
        counts: Tasks by component and machine, int64 (K, m).
        budget: Placements to try.

    Returns:
        The counts and their highest factor of the stated rates.
    """
    model, free = instances.profiled, np.maximum(instances.free, 0.0)
    best = model.max_factor(counts, free)
    while budget > 0 and math.isfinite(best):
        node = int((free - model.load(counts, best)).argmin())
        better = None
        for tried in _exchanges(instances, counts, node):
            budget -= 1
            rate = model.max_factor(tried, free)
            if rate > best * (1 + 1e-9):
                best, better = rate, tried
            if budget <= 0:
                break
        if better is None:
            break
        counts = better
    return counts, best


def _exchanges(instances: InstanceCounts, counts: Counts, node: int) -> Iterator[Counts]:
    """Counts with a task of the machine's components moved, gone, or joined by one more anywhere."""
    alike = np.unique(np.vstack([instances.profiled.e, counts]), axis=1, return_index=True)[1].tolist()
    for part in np.flatnonzero(counts[:, node]).tolist():
        others = [other for other in alike if other != node and _takes(instances, counts, part, other)]
        for other in others:
            yield _changed(counts, (part, other, 1))
        if counts[part, node] <= instances.floor[part, node]:
            continue
        if counts[part].sum() > 1:
            yield _changed(counts, (part, node, -1))
        for other in others:
            yield _changed(counts, (part, other, 1), (part, node, -1))


def _takes(instances: InstanceCounts, counts: Counts, part: int, node: int) -> bool:
    """Check that the machine has a profile, a slot and memory for one more task of a component."""
    there = counts[:, node] - instances.floor[:, node]
    room = instances.room[node] - there @ instances.need
    mine = instances.topology[part]
    new = {int(t) for t in instances.topology[there > 0] if not instances.present[t, node]}
    has_slot = instances.present[mine, node] or int(mine) in new or len(new) < instances.slots[node]
    return bool(instances.profiled.covers[part, node] and has_slot and (room >= instances.need[part]).all())


def _changed(counts: Counts, *changes: tuple[int, int, int]) -> Counts:
    changed = counts.copy()
    for part, node, by in changes:
        changed[part, node] += by
    return changed

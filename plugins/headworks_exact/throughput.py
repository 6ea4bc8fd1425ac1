"""Instance counts and nodes for the highest throughput: bisection over the rate, an integer program at each.

At a fixed input rate R and number N of tasks, a task of component c needs e * gain * R / N + MET percent: whether some
numbers and some placement fit is an integer program. Each answer narrows the range between the best plan found, whose
highest rate is known in closed form, and the least rate known to be out of reach.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import attrs
import numpy as np

from headworks.model import Bound, Reason, Status
from headworks.model.scaling import rescaled
from headworks.problem import Problem
from headworks.problem.arrays.profiles import FULL, OVER, counts_of
from headworks.toolbox.cancel import offer
from headworks.toolbox.instance_counts import InstanceCounts
from headworks_exact.any_number import AnyNumber, Highest, highest_of_any
from headworks_exact.feasibility import UNITS, Counts, at_most, by_counts, most, rate_of, takes
from headworks_exact.fewest import FURTHER, fewest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from headworks.model import Plan, Request
    from headworks_exact.options import Options
    from headworks_exact.solver import Budget
ROUND, TRIED = 300, 16
"""Tasks of a component that shares are rounded to, at most; and how many numbers are tried, those that round best."""
ROUNDED = 1e-5
"""Relative error of a rate that CP-SAT says is out of reach: needs are rounded up to units."""


def most_throughput(request: Request, options: Options, budget: Budget, others: Mapping[str, Plan]) -> Plan:
    """The plan of highest throughput that was found, with the bound that stands.

    Args:
        request: The request.
        options: Options of `optimal`.
        budget: Work and time that are left.
        others: Plans of other schedulers, by name: none of them is better than the one that is returned.
    """
    instances = InstanceCounts.of(_with_slots(request))
    if not len(instances.parts):
        return instances.others("no component has a profile, so there is no throughput to compute")
    alone = [row for row in range(len(instances.parts)) if not takes(instances, row).any()]
    if alone:
        return _better(instances.refuse(instances.no_machine(alone[0])), others)
    any_number = AnyNumber.of(instances, budget)
    limit = any_number.alone()
    if not math.isfinite(limit):
        counts = fill(instances, 1.0, options)
        said = "no rate of these components costs anything, or no spout emits"
        own = instances.plan(counts, 1.0, said) if counts is not None else _none(instances)
        return _better(own, others)
    starts = [each for plan in others.values() for each in [_counts_of(instances, plan)] if each is not None]
    starts += [each for each in [_start(instances, limit, options)] if each is not None]
    best = max(starts, key=lambda each: rate_of(instances, each), default=None)
    if best is not None and not others and not request.assignment:
        offer(instances.plan(best, rate_of(instances, best), "the numbers from which the search starts"))
    highest = highest_of_any(any_number, limit, best)
    if highest.shares is not None:
        best = _rounded(instances, highest.shares, best)
    best, bound = _bisect(instances, best, limit, options, (any_number, highest))
    if best is None:
        return _better(_at_rest(instances, options), others)
    counts = best
    if options.within > 0 and rate_of(instances, best) > 0:
        least = rate_of(instances, best) * (1 - options.within)
        work = FURTHER * options.effort * request.limits.deadline
        counts = fewest(instances, [best, *starts], least * (1 - OVER), options, work, budget)
        best = max(best, counts, key=lambda each: rate_of(instances, each))
    return _bounded(instances, best, counts, bound, options, others)


def _with_slots(request: Request) -> Request:
    """The request without nodes that have no slots: the numbers of tasks that are searched follow from the machines."""
    nodes = tuple(node for node in request.cluster.nodes if node.slots)
    if not nodes or len(nodes) == len(request.cluster.nodes):
        return request
    names = {node.id for node in nodes}
    measured = tuple(each for each in request.metrics.nodes if each.node in names)
    metrics = attrs.evolve(request.metrics, nodes=measured)
    return attrs.evolve(request, cluster=attrs.evolve(request.cluster, nodes=nodes), metrics=metrics)


def _bounded(
    instances: InstanceCounts,
    best: Counts,
    counts: Counts,
    bound: float,
    options: Options,
    others: Mapping[str, Plan],
) -> Plan:
    """The plan of some counts with the bound of the best ones, which holds for any numbers of tasks."""
    emitted = float(instances.profiled.gain.sum())
    low, rate = rate_of(instances, best), rate_of(instances, counts)
    proven = bound - low <= options.tolerance * low
    alone = " by CPU alone" if Problem.of(instances.request).is_load_bounded else ""
    said = f"{'proven optimum' if proven else 'best found so far'}{alone}, of any numbers of tasks"
    if counts.sum() < best.sum():
        reach = f"{low * instances.profiled.input_rate:,.6g} tuples/s take {best.sum()} tasks"
        said = f"{counts.sum()} tasks, {rate / low:.1%} of the {said}: its {reach}"
    plan = _better(instances.plan(counts, rate, said), others, options.within)
    if plan.status is not Status.OK or not math.isfinite(bound):
        return plan
    reached = plan.scores.throughput or 0.0
    proven &= reached >= (1 - options.within - options.tolerance) * low * emitted
    return attrs.evolve(plan, bound=Bound(figure="throughput", value=max(bound * emitted, reached), proven=proven))


def _better(own: Plan, others: Mapping[str, Plan], within: float = 0.0) -> Plan:
    """The plan itself, or that of another scheduler which is better by more than a part."""
    best = max([own, *others.values()], key=lambda each: (each.status is Status.OK, each.scores.throughput or 0.0))
    reached = (best.scores.throughput or 0.0) * (1 - within - OVER)
    if best is own or (own.status is best.status and (own.scores.throughput or 0.0) >= reached):
        return own
    name = next(name for name, plan in others.items() if plan is best)
    return attrs.evolve(best, explanation=f"the plan of {name}, nothing better was found: {best.explanation}")


def _counts_of(instances: InstanceCounts, plan: Plan) -> Counts | None:
    """Tasks by component and machine in a plan, None if it is not whole."""
    if plan.status is not Status.OK:
        return None
    problem = Problem.of(rescaled(instances.request, plan))
    return counts_of(problem, problem.node_of(plan.assignment))[instances.parts]


def _bisect(
    instances: InstanceCounts,
    best: Counts | None,
    limit: float,
    options: Options,
    relaxed: tuple[AnyNumber, Highest],
) -> tuple[Counts | None, float]:
    """Search ever closer rates; the best counts, and the bound for any numbers of tasks."""
    any_number, highest = relaxed
    budget, bound = any_number.budget, highest.rate
    whole = _is_all(instances)
    bound = min(bound, limit * (1 + ROUNDED)) if whole else bound
    low, high = rate_of(instances, best) if best is not None else 0.0, min(limit, bound)
    close = max(options.tolerance - 2 * ROUNDED, options.tolerance / 2)  # the bound is rounded up
    while not budget.spent and high - low > close * low:
        middle = (low + high) / 2 if low > 0 else high / 2
        if middle < limit * 1e-9:
            break
        priced = any_number.costs(middle, highest.price)[0], any_number.worth(highest.price)
        feasible, counts = by_counts(instances, middle, best, options, budget, priced=priced)
        if counts is not None:
            if best is not None and rate_of(instances, counts) <= low:
                break
            best, low = counts, rate_of(instances, counts)
        elif feasible is False:
            high = middle
            if whole and _holds_for_any(instances, any_number, middle, highest.price, options):
                bound = min(bound, middle * (1 + ROUNDED))
        else:
            break
    return best, bound


def _rounded(instances: InstanceCounts, shares: NDArray[np.float64], best: Counts | None) -> Counts | None:
    """The best counts, or better ones in about the shares of the relaxation; the more tasks, the closer they come.

    Where memory or slots may bind nothing is rounded.
    """
    if instances.need.any() or (instances.slots < len(instances.present)).any() or instances.floor.any():
        return best
    rate = rate_of(instances, best) if best is not None else 0.0
    for nodes in _alike(instances, np.maximum(instances.free, 0.0)):  # equal machines have equal shares
        shares[:, nodes] = shares[:, nodes].mean(axis=1, keepdims=True)
    bounds = zip(shares, instances.least.tolist(), instances.most.tolist(), strict=True)
    rows = [[_row(share, number) for number in _numbers(share, low, high)] for share, low, high in bounds]
    counts = best.copy() if best is not None else np.array([each[0] for each in rows])
    for each in [counts, *(np.array(tried) for tried in zip(*rows, strict=False))]:
        counts = each.copy()
        for _ in range(2):
            for part, tried in enumerate(rows):
                options = [np.vstack([counts[:part], row[None], counts[part + 1 :]]) for row in [counts[part], *tried]]
                counts = max(options, key=lambda one: rate_of(instances, one))
        if rate_of(instances, counts) > rate * (1 + 1e-9):
            best, rate = counts, rate_of(instances, counts)
    return best


def _alike(instances: InstanceCounts, free: NDArray[np.float64]) -> list[list[int]]:
    """Machines on which each component costs the same."""
    model = instances.profiled
    found: dict[bytes, list[int]] = {}
    for node in range(len(free)):
        arrays = (model.e[:, node], model.met[:, node], model.covers[:, node], free[node : node + 1])
        found.setdefault(b"|".join(np.ascontiguousarray(each).tobytes() for each in arrays), []).append(node)
    return list(found.values())


def _numbers(share: NDArray[np.float64], low: int, high: int) -> list[int]:
    """Numbers of tasks within bounds whose whole parts come closest to shares."""
    every = np.arange(max(low, 1), max(min(high, ROUND), low, 1) + 1)
    parts = every[:, None] * share / share.sum()
    off = np.abs(np.rint(parts) - parts).max(axis=1) / every
    return sorted(every[np.argsort(off, kind="stable")[:TRIED]].tolist())


def _row(share: NDArray[np.float64], number: int) -> NDArray[np.int64]:
    """So many tasks in about these shares, by largest remainder."""
    whole = np.floor(share / share.sum() * number + 1e-9).astype(np.int64)
    left = share / share.sum() * number - whole
    whole[np.argsort(-left, kind="stable")[: number - int(whole.sum())]] += 1
    return np.asarray(whole, dtype=np.int64)


def _is_all(instances: InstanceCounts) -> bool:
    """Check that what is searched is all that a plan may do, but for the numbers of tasks.

    Tasks without profiles are placed before, tasks of a component are taken to be equal, and a topology to have one
    worker on a machine.
    """
    problem = Problem.of(instances.request)
    others = ~np.isin(problem.component, instances.parts)
    alike = all(
        (problem.demand[mine] == problem.demand[mine][0]).all() and (problem.heap[mine] == problem.heap[mine][0]).all()
        for part in instances.parts.tolist()
        for mine in [problem.component == part]
    )
    limited = np.isfinite(problem.heap_limit[instances.topology]).any() and problem.heap.any()
    return bool((problem.fixed[others] >= 0).all() and alike and not limited)


def _holds_for_any(
    instances: InstanceCounts, any_number: AnyNumber, rate: float, price: NDArray[np.float64], options: Options
) -> bool:
    """Check that a rate that is out of reach with the numbers that were searched is so with any larger ones.

    A placement with more tasks of some component costs at least their cheapest spread, and that of all the others.
    """
    cost = any_number.costs(rate, price)[0]
    least, beyond = cost.min(axis=1), np.full(len(cost), np.inf)
    for row in range(len(least)):
        searched = most(instances, row, options)
        rest = np.ceil(instances.profiled.met[row] / FULL * UNITS).astype(np.int64)
        if at_most(instances, row, rest).sum() > searched:
            beyond[row] = cost[row, min(searched, cost.shape[1] - 1) :].min()
    spare = any_number.worth(price)
    return bool((beyond + least.sum() - least > spare * (1 + 1e-9)).all())


def _at_rest(instances: InstanceCounts, options: Options) -> Plan:
    """The plan of tasks whose threads are full before the first tuple, infeasible if they find no place at rest."""
    counts = fill(instances, 0.0, options)
    if counts is None or instances.profiled.most_by_threads(counts) > 0:
        return _none(instances)
    return instances.plan(counts, 0.0, "the threads of a task are full before the first tuple")


def _none(instances: InstanceCounts) -> Plan:
    need = float(instances.profiled.met.min(axis=1, initial=FULL).sum())
    have = float(np.maximum(instances.free, 0.0).sum())
    message = f"no placement of one task of each component was found: they need {need:g} % at rest, {have:g} % are free"
    return instances.refuse(
        Reason(code="capacity", subject="components", message=message, resource="cpu", need=need, have=have)
    )


def _start(instances: InstanceCounts, limit: float, options: Options) -> Counts | None:
    """The first of ever lower rates at which filling up succeeds."""
    for step in range(100):
        counts = fill(instances, limit * 0.95**step, options)
        if counts is not None and rate_of(instances, counts) > 0:
            return counts
    return None


def fill(instances: InstanceCounts, factor: float, options: Options) -> Counts | None:
    """Place tasks of about a fifth of a machine each, largest first, where the least of a machine is used.

    Args:
        instances: The choice of instance counts.
        factor: Factor of the stated rates.
        options: Options of `optimal`.
    """
    model = instances.profiled
    work = np.where(model.covers, model.e * (factor * model.gain)[:, None], np.inf).min(axis=1)
    spare = np.where(model.covers, model.limit - model.met, 0.0).max(axis=1)  # what the threads of a task can use
    limit = np.array([most(instances, row, options) for row in range(len(work))])
    wanted = np.clip(np.ceil(work / np.clip(spare, 1e-9, 20.0)), np.minimum(instances.least, limit), limit)
    wanted = np.maximum(wanted.astype(np.int64), instances.floor.sum(axis=1))
    counts = instances.floor.copy()
    load = (counts * (model.e * (factor * model.gain / wanted)[:, None] + model.met)).sum(axis=0)
    room, slots, present = instances.room.copy(), instances.slots.copy(), instances.present.copy()
    for row in np.argsort(-work / wanted, kind="stable").tolist():
        size = model.e[row] * factor * model.gain[row] / wanted[row] + model.met[row]
        topology = instances.topology[row]
        for _ in range(int(wanted[row] - counts[row].sum())):
            can = model.covers[row] & (present[topology] | (slots > 0)) & (room >= instances.need[row]).all(axis=1)
            can &= (load + size <= np.maximum(instances.free, 0.0)) & (size <= model.limit[row])
            if not can.any():
                return None
            node = int(np.where(can, size, np.inf).argmin())
            counts[row, node] += 1
            load[node] += size[node]
            room[node] -= instances.need[row]
            slots[node] -= not present[topology, node]
            present[topology, node] = True
    return counts

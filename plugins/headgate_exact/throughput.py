"""Instance counts and nodes for the highest throughput: bisection over the rate, an integer program at each.

At a fixed input rate R and number N of tasks, a task of component c needs e * gain * R / N + MET percent: whether some
numbers and some placement fit is an integer program. Each answer narrows the range between the best plan found, whose
highest rate is known in closed form, and the least rate known to be out of reach. Where the spreads of a component over
the machines can be listed, the program chooses among those columns whose reduced cost a relaxation leaves within the
gap (`headgate_exact.columns`); else it counts tasks.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
from numpy.typing import NDArray

from headgate.model import Bound, Reason, Status
from headgate.problem.profiles import FULL
from headgate.toolbox.instance_counts import InstanceCounts
from headgate_exact.columns import Columns, by_reduced_cost
from headgate_exact.meet_in_the_middle import combine
from headgate_exact.relaxation import highest_factor
from headgate_exact.solver import Budget, solve

if TYPE_CHECKING:
    from headgate.model import Plan, Request
    from headgate_exact.options import Options

Counts = NDArray[np.int64]
"""Tasks by component and machine, shape (K, m)."""

Found = tuple[bool | None, Counts | None]
"""Feasibility of a factor (None: the budget does not tell), and counts that sustain it."""

UNITS = 10_000_000
"""Integer units of one machine, to which the need of a task is rounded up. The larger it is, the finer the rounding,
and the nearer sums come to the limit of 64 bits."""


def most_throughput(request: Request, options: Options, budget: Budget) -> Plan:
    """The plan of highest throughput that was found, with the bound that stands.

    Args:
        request: The request.
        options: Options of `optimal`.
        budget: Work and time that are left.
    """
    instances = InstanceCounts.of(request)
    if not len(instances.parts):
        return instances.others("no component has a profile, so there is no throughput to compute")
    alone = [row for row in range(len(instances.parts)) if not _takes(instances, row).any()]
    if alone:
        return instances.refuse(instances.no_machine(alone[0]))
    limit = highest_factor(instances)
    if not math.isfinite(limit):
        counts = fill(instances, 1.0, options)
        said = "no rate of these components costs anything, or no spout emits"
        return instances.plan(counts, 1.0, said) if counts is not None else _none(instances)
    return _bisect(instances, limit, options, budget)


def _bisect(instances: InstanceCounts, limit: float, options: Options, budget: Budget) -> Plan:
    best = _start(instances, limit, options)
    low, high = (rate_of(instances, best), limit) if best is not None else (0.0, limit)
    columns = _columns(instances, options)
    width = len(instances.parts) * options.instances * instances.profiled.e.shape[1] ** 2
    small = columns is not None or width <= options.max_columns // 10
    step = options.tolerance
    while small and not budget.spent and high - low > options.tolerance * low:
        middle = (low + high) / 2 if low > 0 else high / 2
        if columns is not None:  # from above, where a relaxation leaves few columns
            middle, step = max(middle, high * (1 - step)), 2 * step
        if middle < limit * 1e-9:
            break
        if columns is not None:
            feasible, counts = _by_columns(instances, columns, middle, budget)
        else:
            feasible, counts = _by_counts(instances, middle, best, options, budget)
        if counts is not None:
            if best is not None and rate_of(instances, counts) <= low:
                break
            best, low = counts, rate_of(instances, counts)
        elif feasible is False:
            high = middle
        else:
            break
    if best is None:
        return _none(instances)
    proven = high - low <= options.tolerance * low
    said = "proven optimum" if proven else "best found so far" if small else "too many columns to search: filled up"
    plan = instances.plan(best, low, f"{said}, with at most {most(instances, options)} tasks of a component")
    if plan.status is not Status.OK:
        return plan
    value = max(high, low) * float(instances.profiled.gain.sum())
    return attrs.evolve(plan, bound=Bound(figure="throughput", value=value, proven=proven))


def most(instances: InstanceCounts, options: Options) -> int:
    """Tasks that a component may have.

    Args:
        instances: The choice of instance counts.
        options: Options of `optimal`.
    """
    return max(options.instances * len(instances.free), int(instances.floor.sum(axis=1).max(initial=1)))


def rate_of(instances: InstanceCounts, counts: Counts) -> float:
    """The highest factor of the stated rates that counts sustain.

    Args:
        instances: The choice of instance counts.
        counts: Tasks by component and machine, shape (K, m).
    """
    return instances.profiled.max_factor(counts, np.maximum(instances.free, 0.0))


def _takes(instances: InstanceCounts, row: int) -> NDArray[np.bool_]:
    """Machines that could hold one task of a component if they held nothing else."""
    can: NDArray[np.bool_] = instances.profiled.covers[row] & (instances.slots > 0)
    can |= instances.profiled.covers[row] & instances.present[instances.topology[row]]
    can &= (instances.room >= instances.need[row]).all(axis=1)
    can &= instances.profiled.met[row] <= np.maximum(instances.free, 0.0)
    can |= instances.floor[row] > 0
    return can


def _none(instances: InstanceCounts) -> Plan:
    need = float(instances.profiled.met.min(axis=1, initial=FULL).sum())
    have = float(np.maximum(instances.free, 0.0).sum())
    message = f"no placement of one task of each component was found: they need {need:g} % at rest, {have:g} % are free"
    return instances.refuse(
        Reason(code="capacity", subject="components", message=message, resource="cpu", need=need, have=have)
    )


def _start(instances: InstanceCounts, limit: float, options: Options) -> Counts | None:
    """The first of ever lower rates at which filling up succeeds."""
    for step in range(60):
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
    wanted = np.clip(np.ceil(work / 20.0), 1, most(instances, options)).astype(np.int64)
    wanted = np.maximum(wanted, instances.floor.sum(axis=1))
    counts = instances.floor.copy()
    load = (counts * (model.e * (factor * model.gain / wanted)[:, None] + model.met)).sum(axis=0)
    room, slots, present = instances.room.copy(), instances.slots.copy(), instances.present.copy()
    for row in np.argsort(-work / wanted, kind="stable").tolist():
        size = model.e[row] * factor * model.gain[row] / wanted[row] + model.met[row]
        topology = instances.topology[row]
        for _ in range(int(wanted[row] - counts[row].sum())):
            can = model.covers[row] & (present[topology] | (slots > 0)) & (room >= instances.need[row]).all(axis=1)
            can &= load + size <= np.maximum(instances.free, 0.0)
            if not can.any():
                return None
            node = int(np.where(can, size, np.inf).argmin())
            counts[row, node] += 1
            load[node] += size[node]
            room[node] -= instances.need[row]
            slots[node] -= not present[topology, node]
            present[topology, node] = True
    return counts


def _columns(instances: InstanceCounts, options: Options) -> list[Columns] | None:
    """List the columns of each component; None if there are too many."""
    found, left = [], options.max_columns
    for row in range(len(instances.parts)):
        rest = np.ceil(instances.profiled.met[row] / FULL * UNITS).astype(np.int64)
        columns = Columns.of(instances, row, _at_most(instances, row, rest), most(instances, options), left)
        if columns is None:
            return None
        left -= len(columns.counts)
        found.append(columns)
    return found


def _by_columns(instances: InstanceCounts, columns: list[Columns], factor: float, budget: Budget) -> Found:
    """Decide by columns whether a factor can be sustained, and by which counts."""
    free = np.maximum(instances.free, 0.0)
    kept, duals = by_reduced_cost(columns, factor, free, budget)
    if not kept:
        return False, None
    if not instances.need.any() and (instances.slots >= len(instances.present)).all():
        complete, counts = combine(kept, factor, free, duals, budget)
        if complete:
            return counts is not None, counts
    return _choose_columns(instances, kept, factor, budget)


def _choose_columns(instances: InstanceCounts, kept: list[Columns], factor: float, budget: Budget) -> Found:
    """Choose one column of each component by CP-SAT, which knows memory and slots too."""
    # The extra `exact`, and slow to import.
    from ortools.sat.python import cp_model

    free = np.maximum(instances.free, 0.0)
    model = cp_model.CpModel()
    terms: list[list[Any]] = [[] for _ in free]
    on: list[list[Any]] = []
    takes = []
    for each in kept:
        take = [model.new_bool_var("") for _ in each.counts]
        model.add_exactly_one(take)
        takes.append(take)
        units = np.floor(each.load(factor) / FULL * UNITS).astype(np.int64)
        for node, needs in enumerate(terms):
            needs.append(cp_model.LinearExpr.weighted_sum(take, units[:, node].tolist()))
        on.append([_sum(take, each.counts[:, node]) for node in range(len(free))])
    for needs, percent in zip(terms, free.tolist(), strict=True):
        model.add(sum(needs) <= math.ceil(percent / FULL * UNITS))
    _add_resources(model, instances, on)
    _break_symmetry(model, instances, on)
    solver = solve(model, budget)
    if solver.status == cp_model.INFEASIBLE:
        return False, None
    if solver.status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None, None
    chosen = [[solver.value(each) for each in take].index(1) for take in takes]
    return True, np.array([each.counts[way] for each, way in zip(kept, chosen, strict=True)], dtype=np.int64)


def _sum(take: list[Any], counts: NDArray[np.int64]) -> Any:
    # The extra `exact`, and slow to import.
    from ortools.sat.python import cp_model

    return cp_model.LinearExpr.weighted_sum(take, counts.tolist()) if counts.any() else 0


def _by_counts(
    instances: InstanceCounts, factor: float, best: Counts | None, options: Options, budget: Budget
) -> Found:
    """Decide by counts of tasks whether a factor can be sustained, and by which."""
    # The extra `exact`, and slow to import.
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    parts, machines = instances.profiled.e.shape
    terms: list[list[Any]] = [[] for _ in range(machines)]
    on: list[list[Any]] = []
    hints = best if best is not None else np.zeros((parts, machines), dtype=np.int64)
    for row in range(parts):
        size = _sizes(instances, row, factor, most(instances, options))
        chosen = [model.new_bool_var("") for _ in size]
        model.add_exactly_one(chosen)
        here: list[Any] = [0] * machines
        for number, take in enumerate(chosen, 1):
            model.add_hint(take, bool(hints[row].sum() == number))
            each = [
                model.new_int_var(0, min(number, int(fits)), "") if fits else 0
                for fits in _at_most(instances, row, size[number - 1]).tolist()
            ]
            model.add(sum(each) == number * take)
            for node, count in enumerate(each):
                if isinstance(count, int):
                    continue
                model.add_hint(count, int(hints[row, node]) if hints[row].sum() == number else 0)
                terms[node].append(int(size[number - 1][node]) * count)
                here[node] = here[node] + count
        for node in np.flatnonzero(instances.floor[row]).tolist():
            model.add(here[node] >= int(instances.floor[row, node]))
        on.append(here)
    for node, needs in enumerate(terms):
        model.add(sum(needs) <= math.floor(max(float(instances.free[node]), 0.0) / FULL * UNITS + 1))
    _add_resources(model, instances, on)
    _break_symmetry(model, instances, on)
    solver = solve(model, budget)
    if solver.status == cp_model.INFEASIBLE:
        return False, None
    if solver.status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None, None
    found = [[0 if isinstance(each, int) else solver.value(each) for each in here] for here in on]
    return True, np.array(found, dtype=np.int64)


def _sizes(instances: InstanceCounts, row: int, factor: float, limit: int) -> list[NDArray[np.int64]]:
    """Units that one of N tasks needs on each machine, for N = 1, 2, ..."""
    model = instances.profiled
    whole = model.e[row] * factor * model.gain[row]
    return [np.ceil((whole / n + model.met[row]) / FULL * UNITS - 1e-6).astype(np.int64) for n in range(1, limit + 1)]


def _at_most(instances: InstanceCounts, row: int, size: NDArray[np.int64]) -> NDArray[np.int64]:
    """Tasks of a component that each machine could hold alone."""
    free = np.maximum(instances.free, 0.0) / FULL * UNITS + 1
    by_cpu = np.floor(free / np.maximum(size, 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        other = np.where(instances.need[row] > 0, np.floor(instances.room / instances.need[row]), np.inf)
    found = np.minimum(by_cpu, other.min(axis=1, initial=np.inf))
    found = np.where(_takes(instances, row) & instances.profiled.covers[row], np.minimum(found, 1e6), 0)
    return np.asarray(np.maximum(found, instances.floor[row]), dtype=np.int64)


def _add_resources(model: Any, instances: InstanceCounts, on: list[list[Any]]) -> None:
    """Add the rows of memory and the like, and of slots where topologies compete for them."""
    parts, machines = instances.profiled.e.shape
    for node in range(machines):
        for column in range(instances.need.shape[1]):
            if instances.need[:, column].any():
                need = [math.ceil(each * 1024 - 1e-6) for each in instances.need[:, column].tolist()]
                have = math.floor(max(float(instances.room[node, column]), 0.0) * 1024)
                floor = sum(n * f for n, f in zip(need, instances.floor[:, node].tolist(), strict=True))
                model.add(sum(need[row] * on[row][node] for row in range(parts)) <= have + floor)
        _add_slots(model, instances, on, node)


def _add_slots(model: Any, instances: InstanceCounts, on: list[list[Any]], node: int) -> None:
    topologies = sorted(set(instances.topology.tolist()))
    new = [each for each in topologies if not instances.present[each, node]]
    if len(new) <= instances.slots[node]:
        return
    used = []
    for each in new:
        works = model.new_bool_var("")
        used.append(works)
        for row in np.flatnonzero(instances.topology == each).tolist():
            if not isinstance(on[row][node], int):
                model.add(on[row][node] == 0).only_enforce_if(~works)
    model.add(sum(used) <= max(int(instances.slots[node]), 0))


def _break_symmetry(model: Any, instances: InstanceCounts, on: list[list[Any]]) -> None:
    """Break symmetry: of equal machines, one of higher index has no more tasks of the first component."""
    profiled = instances.profiled
    last: dict[bytes, int] = {}
    for node in range(profiled.e.shape[1]):
        arrays = (profiled.e[:, node], profiled.met[:, node], profiled.covers[:, node], instances.free[node : node + 1])
        more = (
            instances.room[node],
            instances.slots[node : node + 1],
            instances.present[:, node],
            instances.floor[:, node],
        )
        key = b"|".join(np.ascontiguousarray(each).tobytes() for each in (*arrays, *more))
        if key in last:
            model.add(on[0][last[key]] >= on[0][node])
        last[key] = node

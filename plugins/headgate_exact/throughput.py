"""Numbers of tasks and their nodes for the highest throughput: CP-SAT says whether a rate can be had, bisection which.

At a fixed input rate R and number N of tasks, a task of component c needs e * gain * R / N + MET percent: whether some
numbers and some placement fit is an integer program. Each answer narrows the range between the best plan found, whose
highest rate is known in closed form, and the least rate known to be out of reach. Where the ways to spread a component
over the machines can be listed, the program chooses among those that a relaxation leaves (`headgate_exact.ways`); else
it counts tasks.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
from numpy.typing import NDArray

from headgate.model import Bound, Status
from headgate.problem.profiles import FULL
from headgate.toolbox.instance_counts import InstanceCounts
from headgate_exact.mixing import combined
from headgate_exact.relaxation import highest_factor
from headgate_exact.solver import Budget, solve
from headgate_exact.ways import Ways, surviving

if TYPE_CHECKING:
    from headgate.model import Plan, Request
    from headgate_exact.options import Options

Counts = NDArray[np.int64]
"""Tasks by component and machine, shape (K, m)."""

Found = tuple[bool | None, Counts | None]
"""Whether a factor can be had (None: the budget does not tell), and counts that sustain it."""

UNITS = 10_000_000
"""Integer units of one machine; what a task needs is rounded up to them."""


def most_throughput(request: Request, options: Options, budget: Budget) -> Plan:
    """The plan of highest throughput that was found, with the bound that stands."""
    scaling = InstanceCounts.of(request)
    if not len(scaling.parts):
        return scaling.others("no component has a profile, so there is no throughput to compute")
    alone = [row for row in range(len(scaling.parts)) if not _takes(scaling, row).any()]
    if alone:
        return scaling.refuse(scaling.no_machine(alone[0]))
    limit = highest_factor(scaling)
    if not math.isfinite(limit):
        counts = fill(scaling, 1.0, options)
        said = "no rate of these components costs anything, or no spout emits"
        return scaling.plan(counts, 1.0, said) if counts is not None else _none(scaling)
    return _bisect(scaling, limit, options, budget)


def _bisect(scaling: InstanceCounts, limit: float, options: Options, budget: Budget) -> Plan:
    best = _start(scaling, limit, options)
    low, high = (rate_of(scaling, best), limit) if best is not None else (0.0, limit)
    ways = _ways(scaling, options)
    columns = len(scaling.parts) * options.instances * scaling.profiled.e.shape[1] ** 2
    small = ways is not None or columns <= options.max_columns // 10
    step = options.tolerance
    while small and not budget.spent and high - low > options.tolerance * low:
        middle = (low + high) / 2 if low > 0 else high / 2
        if ways is not None:  # from above, where a relaxation leaves few ways
            middle, step = max(middle, high * (1 - step)), 2 * step
        if middle < limit * 1e-9:
            break
        if ways is not None:
            feasible, counts = _mixes(scaling, ways, middle, budget)
        else:
            feasible, counts = _reaches(scaling, middle, best, options, budget)
        if counts is not None:
            if best is not None and rate_of(scaling, counts) <= low:
                break
            best, low = counts, rate_of(scaling, counts)
        elif feasible is False:
            high = middle
        else:
            break
    if best is None:
        return _none(scaling)
    proven = high - low <= options.tolerance * low
    said = "proven optimum" if proven else "best found so far" if small else "too many columns to search: filled up"
    plan = scaling.plan(best, low, f"{said}, with at most {most(scaling, options)} tasks of a component")
    if plan.status is not Status.OK:
        return plan
    value = max(high, low) * float(scaling.profiled.gain.sum())
    return attrs.evolve(plan, bound=Bound(figure="throughput", value=value, proven=proven))


def most(scaling: InstanceCounts, options: Options) -> int:
    """Tasks that a component may have."""
    return max(options.instances * len(scaling.free), int(scaling.floor.sum(axis=1).max(initial=1)))


def rate_of(scaling: InstanceCounts, counts: Counts) -> float:
    """The highest factor of the stated rates that counts sustain."""
    return scaling.profiled.max_factor(counts, np.maximum(scaling.free, 0.0))


def _takes(scaling: InstanceCounts, row: int) -> NDArray[np.bool_]:
    """Machines that could hold one task of a component if they held nothing else."""
    can: NDArray[np.bool_] = scaling.profiled.covers[row] & (scaling.slots > 0)
    can |= scaling.profiled.covers[row] & scaling.present[scaling.topology[row]]
    can &= (scaling.room >= scaling.need[row]).all(axis=1)
    can &= scaling.profiled.met[row] <= np.maximum(scaling.free, 0.0)
    can |= scaling.floor[row] > 0
    return can


def _none(scaling: InstanceCounts) -> Plan:
    from headgate.model import Reason

    need = float(scaling.profiled.met.min(axis=1, initial=FULL).sum())
    have = float(np.maximum(scaling.free, 0.0).sum())
    message = f"no placement of one task of each component was found: they need {need:g} % at rest, {have:g} % are free"
    return scaling.refuse(
        Reason(code="capacity", subject="components", message=message, resource="cpu", need=need, have=have)
    )


def _start(scaling: InstanceCounts, limit: float, options: Options) -> Counts | None:
    """The first of ever lower rates at which filling up succeeds."""
    for step in range(60):
        counts = fill(scaling, limit * 0.95**step, options)
        if counts is not None and rate_of(scaling, counts) > 0:
            return counts
    return None


def fill(scaling: InstanceCounts, factor: float, options: Options) -> Counts | None:
    """Place tasks of about a fifth of a machine each, largest first, where the least of a machine is used."""
    model = scaling.profiled
    work = np.where(model.covers, model.e * (factor * model.gain)[:, None], np.inf).min(axis=1)
    wanted = np.clip(np.ceil(work / 20.0), 1, most(scaling, options)).astype(np.int64)
    wanted = np.maximum(wanted, scaling.floor.sum(axis=1))
    counts = scaling.floor.copy()
    load = (counts * (model.e * (factor * model.gain / wanted)[:, None] + model.met)).sum(axis=0)
    room, slots, present = scaling.room.copy(), scaling.slots.copy(), scaling.present.copy()
    for row in np.argsort(-work / wanted, kind="stable").tolist():
        size = model.e[row] * factor * model.gain[row] / wanted[row] + model.met[row]
        topology = scaling.topology[row]
        for _ in range(int(wanted[row] - counts[row].sum())):
            can = model.covers[row] & (present[topology] | (slots > 0)) & (room >= scaling.need[row]).all(axis=1)
            can &= load + size <= np.maximum(scaling.free, 0.0)
            if not can.any():
                return None
            node = int(np.where(can, size, np.inf).argmin())
            counts[row, node] += 1
            load[node] += size[node]
            room[node] -= scaling.need[row]
            slots[node] -= not present[topology, node]
            present[topology, node] = True
    return counts


def _ways(scaling: InstanceCounts, options: Options) -> list[Ways] | None:
    """The ways of each component; None if there are too many to list."""
    found, left = [], options.max_columns
    for row in range(len(scaling.parts)):
        rest = np.ceil(scaling.profiled.met[row] / FULL * UNITS).astype(np.int64)
        ways = Ways.of(scaling, row, _at_most(scaling, row, rest), most(scaling, options), left)
        if ways is None:
            return None
        left -= len(ways.counts)
        found.append(ways)
    return found


def _mixes(scaling: InstanceCounts, ways: list[Ways], factor: float, budget: Budget) -> Found:
    """Whether some way of each component together sustain a factor, and their counts."""
    free = np.maximum(scaling.free, 0.0)
    kept, price = surviving(ways, factor, free, budget)
    if not kept:
        return False, None
    if not scaling.need.any() and (scaling.slots >= len(scaling.present)).all():
        told, counts = combined(kept, factor, free, price, budget)
        if told:
            return counts is not None, counts
    return _chosen(scaling, kept, factor, budget)


def _chosen(scaling: InstanceCounts, kept: list[Ways], factor: float, budget: Budget) -> Found:
    """The same by CP-SAT, which knows memory and slots too."""
    from ortools.sat.python import cp_model

    free = np.maximum(scaling.free, 0.0)
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
    _further(model, scaling, on)
    _in_order(model, scaling, on)
    solver = solve(model, budget)
    if solver.status == cp_model.INFEASIBLE:
        return False, None
    if solver.status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None, None
    chosen = [[solver.value(each) for each in take].index(1) for take in takes]
    return True, np.array([each.counts[way] for each, way in zip(kept, chosen, strict=True)], dtype=np.int64)


def _sum(take: list[Any], counts: NDArray[np.int64]) -> Any:
    from ortools.sat.python import cp_model

    return cp_model.LinearExpr.weighted_sum(take, counts.tolist()) if counts.any() else 0


def _reaches(scaling: InstanceCounts, factor: float, best: Counts | None, options: Options, budget: Budget) -> Found:
    """Whether some counts sustain a factor, and such counts."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    parts, machines = scaling.profiled.e.shape
    terms: list[list[Any]] = [[] for _ in range(machines)]
    on: list[list[Any]] = []
    hints = best if best is not None else np.zeros((parts, machines), dtype=np.int64)
    for row in range(parts):
        size = _sizes(scaling, row, factor, most(scaling, options))
        chosen = [model.new_bool_var("") for _ in size]
        model.add_exactly_one(chosen)
        here: list[Any] = [0] * machines
        for number, take in enumerate(chosen, 1):
            model.add_hint(take, bool(hints[row].sum() == number))
            each = [
                model.new_int_var(0, min(number, int(fits)), "") if fits else 0
                for fits in _at_most(scaling, row, size[number - 1]).tolist()
            ]
            model.add(sum(each) == number * take)
            for node, count in enumerate(each):
                if isinstance(count, int):
                    continue
                model.add_hint(count, int(hints[row, node]) if hints[row].sum() == number else 0)
                terms[node].append(int(size[number - 1][node]) * count)
                here[node] = here[node] + count
        for node in np.flatnonzero(scaling.floor[row]).tolist():
            model.add(here[node] >= int(scaling.floor[row, node]))
        on.append(here)
    for node, needs in enumerate(terms):
        model.add(sum(needs) <= math.floor(max(float(scaling.free[node]), 0.0) / FULL * UNITS + 1))
    _further(model, scaling, on)
    _in_order(model, scaling, on)
    solver = solve(model, budget)
    if solver.status == cp_model.INFEASIBLE:
        return False, None
    if solver.status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None, None
    found = [[0 if isinstance(each, int) else solver.value(each) for each in here] for here in on]
    return True, np.array(found, dtype=np.int64)


def _sizes(scaling: InstanceCounts, row: int, factor: float, limit: int) -> list[NDArray[np.int64]]:
    """What one of N tasks needs on each machine, in units, for N = 1, 2, ..."""
    model = scaling.profiled
    whole = model.e[row] * factor * model.gain[row]
    return [np.ceil((whole / n + model.met[row]) / FULL * UNITS - 1e-6).astype(np.int64) for n in range(1, limit + 1)]


def _at_most(scaling: InstanceCounts, row: int, size: NDArray[np.int64]) -> NDArray[np.int64]:
    """Tasks of a component that each machine could hold alone."""
    free = np.maximum(scaling.free, 0.0) / FULL * UNITS + 1
    by_cpu = np.floor(free / np.maximum(size, 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        other = np.where(scaling.need[row] > 0, np.floor(scaling.room / scaling.need[row]), np.inf)
    found = np.minimum(by_cpu, other.min(axis=1, initial=np.inf))
    found = np.where(_takes(scaling, row) & scaling.profiled.covers[row], np.minimum(found, 1e6), 0)
    return np.asarray(np.maximum(found, scaling.floor[row]), dtype=np.int64)


def _further(model: Any, scaling: InstanceCounts, on: list[list[Any]]) -> None:
    """Memory and the like, and slots where topologies compete for them."""
    parts, machines = scaling.profiled.e.shape
    for node in range(machines):
        for column in range(scaling.need.shape[1]):
            if scaling.need[:, column].any():
                need = [math.ceil(each * 1024 - 1e-6) for each in scaling.need[:, column].tolist()]
                have = math.floor(max(float(scaling.room[node, column]), 0.0) * 1024)
                floor = sum(n * f for n, f in zip(need, scaling.floor[:, node].tolist(), strict=True))
                model.add(sum(need[row] * on[row][node] for row in range(parts)) <= have + floor)
        _slots(model, scaling, on, node)


def _slots(model: Any, scaling: InstanceCounts, on: list[list[Any]], node: int) -> None:
    topologies = sorted(set(scaling.topology.tolist()))
    new = [each for each in topologies if not scaling.present[each, node]]
    if len(new) <= scaling.slots[node]:
        return
    used = []
    for each in new:
        works = model.new_bool_var("")
        used.append(works)
        for row in np.flatnonzero(scaling.topology == each).tolist():
            if not isinstance(on[row][node], int):
                model.add(on[row][node] == 0).only_enforce_if(~works)
    model.add(sum(used) <= max(int(scaling.slots[node]), 0))


def _in_order(model: Any, scaling: InstanceCounts, on: list[list[Any]]) -> None:
    """Of machines that are alike, one of higher index has no more tasks of the first component."""
    profiled = scaling.profiled
    last: dict[bytes, int] = {}
    for node in range(profiled.e.shape[1]):
        arrays = (profiled.e[:, node], profiled.met[:, node], profiled.covers[:, node], scaling.free[node : node + 1])
        more = (scaling.room[node], scaling.slots[node : node + 1], scaling.present[:, node], scaling.floor[:, node])
        key = b"|".join(np.ascontiguousarray(each).tobytes() for each in (*arrays, *more))
        if key in last:
            model.add(on[0][last[key]] >= on[0][node])
        last[key] = node

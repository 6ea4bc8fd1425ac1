"""Feasibility of a rate: an integer program over counts of tasks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headworks.problem.arrays.profiles import FULL
from headworks_exact.solver import Budget, solve

if TYPE_CHECKING:
    from headworks.toolbox.instance_counts import InstanceCounts
    from headworks_exact.options import Options

Counts = NDArray[np.int64]
"""Tasks by component and machine, shape (K, m)."""

Found = tuple[bool | None, Counts | None]
"""Feasibility of a factor (None: the budget does not tell), and counts that sustain it."""
PRICES = 1e-7
"""Step in which costs of numbers of tasks are counted, as a share of what the machines are worth."""
UNITS = 10_000_000
"""Integer units of one machine, to which the need of a task is rounded up."""


def most(instances: InstanceCounts, row: int, options: Options) -> int:
    """Tasks that a component may have: so many times the number of machines, or one for each core that they have.

    Args:
        instances: The choice of instance counts.
        row: The component.
        options: Options of `optimal`.
    """
    limit = instances.profiled.limit[row]
    cores = int(np.ceil(np.divide(FULL, limit, out=np.ones_like(limit), where=limit > 0)).sum())
    wanted = max(options.instances * len(instances.free), cores, int(instances.floor[row].sum()))
    return max(min(wanted, int(instances.most[row])), int(instances.least[row]))


def rate_of(instances: InstanceCounts, counts: Counts) -> float:
    """The highest factor of the stated rates that counts sustain.

    Args:
        instances: The choice of instance counts.
        counts: Tasks by component and machine, shape (K, m).
    """
    return instances.profiled.max_factor(counts, np.maximum(instances.free, 0.0))


def takes(instances: InstanceCounts, row: int) -> NDArray[np.bool_]:
    """Machines that could hold one task of a component if they held nothing else.

    Args:
        instances: The choice of instance counts.
        row: The component.
    """
    can: NDArray[np.bool_] = instances.profiled.covers[row] & (instances.slots > 0)
    can |= instances.profiled.covers[row] & instances.present[instances.topology[row]]
    can &= (instances.room >= instances.need[row]).all(axis=1)
    can &= instances.profiled.met[row] <= np.maximum(instances.free, 0.0)
    can |= instances.floor[row] > 0
    return can


def by_counts(
    instances: InstanceCounts,
    factor: float,
    best: Counts | None,
    options: Options,
    budget: Budget,
    tasks: int | None = None,
    priced: tuple[NDArray[np.float64], float] | None = None,
) -> Found:
    """Decide by counts of tasks whether a factor can be sustained, and by which.

    Args:
        instances: The choice of instance counts.
        factor: Factor of the stated rates.
        best: Counts that are known, a hint; None without any.
        options: Options of `optimal`.
        budget: Work and time that are left.
        tasks: Tasks that all components may have; the fewest are then looked for. None asks for any.
        priced: What each number of tasks costs at least for some prices of the machines, shape (K, n), in the last
            column what all larger ones do, and what all machines are worth; None if that is unknown.
    """
    hints = best if best is not None else np.zeros(instances.profiled.e.shape, dtype=np.int64)
    program = _CountProgram(instances, hints)
    for row in range(len(hints)):
        limit = most(instances, row, options) if tasks is None else tasks
        program.add_component(row, _sizes(instances, row, factor, limit))
    _add_prices(program.model, program.chosen, priced)
    if tasks is not None:
        total = sum(number * take for own in program.chosen for number, take in enumerate(own, 1))
        program.model.add(total <= tasks)
        program.model.minimize(total)
    program.add_machines()
    return program.search(budget)


class _CountProgram:
    """Integer program over the tasks of components on machines.

    Attributes:
        model: The `CpModel`.
        chosen: For each component whether it has 1, 2, ... tasks.
    """

    def __init__(self, instances: InstanceCounts, hints: Counts) -> None:
        # The extra `exact`, and slow to import.
        from ortools.sat.python import cp_model

        self.model: Any = cp_model.CpModel()
        self.chosen: list[list[Any]] = []
        self._instances, self._hints = instances, hints
        self._on: list[list[Any]] = []
        self._needs: list[list[Any]] = [[] for _ in instances.free]

    def add_component(self, row: int, sizes: list[NDArray[np.int64]]) -> None:
        """Add a component whose tasks need so many units on each machine, if it has 1, 2, ... of them."""
        known = int(self._hints[row].sum())
        self.chosen.append([self.model.new_bool_var("") for _ in sizes])
        self.model.add_exactly_one(self.chosen[-1])
        here: list[Any] = [0] * len(self._needs)
        for number, (take, size) in enumerate(zip(self.chosen[-1], sizes, strict=True), 1):
            self.model.add_hint(take, known == number)
            each = _tasks(self.model, self._instances, row, size, take, number)
            self.model.add(sum(each) == number * take)
            for node, count in enumerate(each):
                if not isinstance(count, int):
                    self.model.add_hint(count, int(self._hints[row, node]) if known == number else 0)
                    self._needs[node].append(int(size[node]) * count)
                    here[node] = here[node] + count
        for node in np.flatnonzero(self._instances.floor[row]).tolist():
            self.model.add(here[node] >= int(self._instances.floor[row, node]))
        self._on.append(here)

    def add_machines(self) -> None:
        """Add what machines have; of equal ones, one of higher index has no more tasks of the first component."""
        for needs, percent in zip(self._needs, self._instances.free.tolist(), strict=True):
            self.model.add(sum(needs) <= math.floor(max(percent, 0.0) / FULL * UNITS + 1))
        _add_resources(self.model, self._instances, self._on)
        _break_symmetry(self.model, self._instances, self._on)

    def search(self, budget: Budget) -> Found:
        """Search within the budget."""
        # The extra `exact`, and slow to import.
        from ortools.sat.python import cp_model

        solver = solve(self.model, budget)
        if solver.status == cp_model.INFEASIBLE:
            return False, None
        if solver.status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return None, None
        found = [[0 if isinstance(each, int) else solver.value(each) for each in here] for here in self._on]
        return True, np.array(found, dtype=np.int64)


def _add_prices(model: Any, chosen: list[list[Any]], priced: tuple[NDArray[np.float64], float] | None) -> None:
    """Add that all numbers of tasks together cost no more than the machines are worth (weak duality)."""
    if priced is None:
        return
    cost, worth = priced
    gap = worth - float(cost.min(axis=1).sum())
    if not math.isfinite(gap) or worth <= 0:
        return
    terms: list[Any] = []
    for takes, own in zip(chosen, cost, strict=True):
        above = own[: min(len(takes), len(own) - 1)] - own.min()
        for take, more in zip(takes, above.tolist(), strict=False):
            if more > gap + PRICES * worth:
                model.add(take == 0)
            else:
                terms.append(math.floor(more / worth / PRICES) * take)
    model.add(sum(terms) <= math.ceil(gap / worth / PRICES) + 1)


def _tasks(
    model: Any, instances: InstanceCounts, row: int, size: NDArray[np.int64], take: Any, number: int
) -> list[Any]:
    """Variables of the tasks on each machine if a component has a number of them, 0 where none may be."""
    bears = size <= instances.profiled.limit[row] / FULL * UNITS + 1
    if number < instances.least[row] or (instances.floor[row] > 0)[~bears].any():
        model.add(take == 0)
    most = np.where(bears, at_most(instances, row, size), 0).tolist()
    return [model.new_int_var(0, min(number, int(fits)), "") if fits else 0 for fits in most]


def _sizes(instances: InstanceCounts, row: int, factor: float, limit: int) -> list[NDArray[np.int64]]:
    """Units that one of N tasks needs on each machine, for N = 1, 2, ..."""
    model = instances.profiled
    whole = model.e[row] * factor * model.gain[row]
    return [np.ceil((whole / n + model.met[row]) / FULL * UNITS - 1e-6).astype(np.int64) for n in range(1, limit + 1)]


def at_most(instances: InstanceCounts, row: int, size: NDArray[np.int64]) -> NDArray[np.int64]:
    """Tasks of a component that each machine could hold alone.

    Args:
        instances: The choice of instance counts.
        row: The component.
        size: Units that a task needs on each machine, shape (m,).
    """
    free = np.maximum(instances.free, 0.0) / FULL * UNITS + 1
    by_cpu = np.floor(free / np.maximum(size, 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        other = np.where(instances.need[row] > 0, np.floor(instances.room / instances.need[row]), np.inf)
    found = np.minimum(by_cpu, other.min(axis=1, initial=np.inf))
    found = np.where(takes(instances, row) & instances.profiled.covers[row], np.minimum(found, 1e6), 0)
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

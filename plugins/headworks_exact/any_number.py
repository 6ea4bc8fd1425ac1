"""Upper bound on the rate of all placements, of any numbers of tasks: the linear relaxation over all spreads.

A spread is how many of N tasks of a component each machine has. At a rate R one of N tasks takes R * e * gain / N + MET
percent of its machine, so that for prices of the machines the cheapest spread of N tasks fills the cheapest machines
first: all spreads are priced without a list. Where the cheapest spreads together cost more than all machines are worth,
no placement sustains R (weak duality); the duals of the relaxation are the prices that show it soonest.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
from numpy.typing import NDArray

from headworks.problem import Problem
from headworks.problem.arrays.profiles import FULL, OVER, Profiled, unprofiled_load
from headworks_exact.solver import Budget

if TYPE_CHECKING:
    from headworks.toolbox.instance_counts import InstanceCounts

    Floats = NDArray[np.float64]

NUMBERS = 600
"""Numbers of tasks of a component that are priced one by one; all that are larger are priced together, from below."""
FASTEST = 1e30
"""Factor of the stated rates beyond which no bound is looked for."""
DOUBLED = 3
"""Doublings of a rate that are made whatever is left."""
ROUNDS = 60
"""Rounds of column generation, at most."""
HALVINGS = 50
"""Bisections of the rate for one set of prices."""
PRICED = 3e-8
"""Deterministic seconds that a number of tasks costs to price on a machine."""


@attrs.frozen(eq=False, kw_only=True)
class AnyNumber:
    """Spreads of K components over m machines.

    Attributes:
        slope: float64 (K, m), percent of a machine that all tasks take at a factor of 1, inf where none may be.
        met: float64 (K, m), percent that a task takes at rest.
        limit: float64 (K, m), percent that the threads of a task can use.
        most: int64 (K,), tasks that each component may have.
        free: float64 (m,), percent of each machine beside tasks without profiles that stay, 0 where no task may be.
        others: float64 (m,), percent of each machine that all other tasks without profiles would take there.
        budget: Work and time that are left.
    """

    slope: Floats
    met: Floats
    limit: Floats
    most: NDArray[np.int64]
    free: Floats
    others: Floats
    budget: Budget

    @classmethod
    def of(cls, instances: InstanceCounts, budget: Budget) -> AnyNumber:
        """Read the profiles; of slots only that a machine has some, of tasks without profiles only their sum.

        Args:
            instances: The choice of instance counts.
            budget: Work and time that are left.
        """
        problem, model = Problem.of(instances.request), instances.profiled
        loose = ~np.isin(problem.component, instances.parts) & (problem.fixed < 0)
        points, whole = float(problem.demand[loose, 0].sum()), problem.capacity[:, 0]
        here, stay = problem.slots > 0, unprofiled_load(problem, Profiled.of(instances.request), problem.fixed)
        need = np.divide(FULL * points, whole, out=np.full(problem.m, np.inf if points else 0.0), where=whole > 0)
        stuck = (instances.floor > 0) & (model.met >= model.limit) & (model.e * model.gain[:, None] > 0)
        can = model.covers & here & (model.met <= FULL * (1 + OVER)) & ~stuck.any(axis=1, keepdims=True)
        return cls(
            slope=np.where(can, model.e * model.gain[:, None], np.inf),
            met=np.where(can, model.met, 0.0),
            limit=model.limit * (1 + 2 * OVER),
            most=np.maximum(instances.most, instances.given),
            free=np.where(here, np.maximum(FULL * (1 + 2 * OVER) - stay, FULL * OVER), 0.0),
            others=np.where(here, need, np.inf),
            budget=budget,
        )

    def alone(self) -> float:
        """The highest factor if each component had all machines to itself, infinite if no rate costs anything.

        A task that can use c percent of a machine processes at most (c - MET) / e tuples/s: a tuple costs c / (c - MET)
        times e at least.
        """
        can = np.minimum(self.free, self.limit)
        with np.errstate(divide="ignore", invalid="ignore"):
            task = np.where(can > self.met, (can - self.met) / self.slope, np.where(self.slope > 0, 0.0, np.inf))
            machine = np.where(task > 0, task * self.free / can, 0.0)
        found = np.minimum(machine.sum(axis=1), task.max(axis=1, initial=0.0) * self.most)
        return float(found.min(initial=np.inf))

    def costs(self, rate: float, price: Floats) -> tuple[Floats, NDArray[np.int64]]:
        """Cost of the cheapest spread of each number of tasks, and the cheapest spread of all.

        Args:
            rate: Factor of the stated rates.
            price: Price of a percent of each machine, shape (m,).

        Returns:
            float64 (K, NUMBERS + 1), in the last column a lower bound for all larger numbers; and int64 (K, m).
        """
        k, m = self.slope.shape
        self.budget.take(k * m * NUMBERS * PRICED)
        cost, spread = np.empty((k, NUMBERS + 1)), np.zeros((k, m), dtype=np.int64)
        number = np.arange(1, NUMBERS + 1)[:, None]
        for row in range(k):
            with np.errstate(divide="ignore", invalid="ignore"):
                one = rate * self.slope[row] / number + self.met[row]
                one = np.where((one <= self.limit[row]) & (number <= self.most[row]), one, np.inf)
                most = np.where(np.isfinite(one), np.floor(self.free * (1 + 1e-9) / one), 0.0)
            taken = _cheapest_first(
                price * np.where(np.isfinite(one), one, 0.0), np.minimum(most, number), number[:, 0]
            )
            cost[row, :-1] = taken[0]
            spread[row] = taken[1][int(taken[0].argmin())]
            cost[row, -1] = self._beyond(rate, price, row) if self.most[row] > NUMBERS else np.inf
        return cost, spread

    def _beyond(self, rate: float, price: Floats, row: int) -> float:
        """Lower bound on the cost of more than `NUMBERS` tasks, in shares of any size."""
        whole = rate * self.slope[row] + (NUMBERS + 1) * self.met[row]
        with np.errstate(divide="ignore", invalid="ignore"):
            most = np.where(np.isfinite(whole), np.minimum(self.free * (1 + 1e-9) / whole, 1.0), 0.0)
        most = np.where(whole > 0, most, 1.0)
        unit = price * np.where(np.isfinite(whole), whole, 0.0)
        return float(_cheapest_first(unit[None], most[None], np.ones(1))[0][0])

    def rest(self, price: Floats) -> float:
        """The least that tasks without profiles cost."""
        finite = np.isfinite(self.others)
        return float((price * np.where(finite, self.others, 0.0))[finite].min(initial=np.inf)) if finite.any() else 0.0

    def worth(self, price: Floats) -> float:
        """What all machines are worth beside tasks without profiles.

        Args:
            price: Price of a percent of each machine, shape (m,).
        """
        return float(price @ self.free) - self.rest(price)

    def gap(self, rate: float, price: Floats) -> float:
        """Cost of the cheapest spreads above the worth of all machines: above 0, no placement sustains the rate.

        Args:
            rate: Factor of the stated rates.
            price: Price of a percent of each machine, shape (m,).
        """
        return float(self.costs(rate, price)[0].min(axis=1).sum()) - self.worth(price)

    def load(self, rate: float, row: int, spread: NDArray[np.int64]) -> Floats:
        """Percent of each machine that a spread takes, float64 (m,).

        Args:
            rate: Factor of the stated rates.
            row: The component.
            spread: Its tasks on each machine, shape (m,).
        """
        share = np.where(spread > 0, self.slope[row], 0.0) * rate / max(int(spread.sum()), 1)
        found: Floats = spread * (share + self.met[row])
        return found


def _cheapest_first(unit: Floats, most: Floats, number: Floats | NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Fill machines from the cheapest on, at most so far each: cost, inf where there is no room, and the counts."""
    order = np.argsort(np.where(most > 0, unit, np.inf), axis=1, kind="stable")
    room = np.take_along_axis(most, order, axis=1)
    before = np.cumsum(room, axis=1) - room
    taken = np.clip(number[:, None] - before, 0.0, room)
    cost = (taken * np.take_along_axis(unit, order, axis=1)).sum(axis=1)
    counts = np.empty_like(taken)
    np.put_along_axis(counts, order, taken, axis=1)
    return np.where(room.sum(axis=1) >= number * (1 - 1e-12), cost, np.inf), counts


@attrs.frozen(eq=False, kw_only=True)
class Highest:
    """Upper bound on the factor of the stated rates, for any numbers of tasks.

    Attributes:
        rate: The bound, inf if none was found.
        price: float64 (m,), prices of a percent of the machines, which show it.
        shares: float64 (K, m), parts of each component's tasks on each machine in the relaxation, None if it was cut
            short.
    """

    rate: float
    price: Floats
    shares: Floats | None


def highest_of_any(spreads: AnyNumber, limit: float, known: NDArray[np.int64] | None) -> Highest:
    """Lower an upper bound on the factor of the stated rates as far as the relaxation shows.

    Args:
        spreads: Components and machines.
        limit: A rate to begin with; at 0, where tasks at rest fill the machines, with the stated one.
        known: Counts that are known to be good, shape (K, m), None without any.
    """
    limit = limit if limit > 0 else 1.0
    shares: Floats | None = None
    k = len(spreads.slope)
    price = np.where(spreads.free > 0, 1.0 / max(float(spreads.free.sum()), 1.0), 0.0)
    columns: list[list[NDArray[np.int64]]] = [[] if known is None else [known[row]] for row in range(k)]
    last = limit * 2**DOUBLED
    while spreads.gap(limit, price) <= 0:
        if limit > FASTEST or (limit >= last and spreads.budget.spent):
            return Highest(rate=math.inf, price=price, shares=None)
        limit *= 2
    for _ in range(ROUNDS):
        if spreads.budget.spent:
            break
        limit = _lowered(spreads, limit, price)
        _, spread = spreads.costs(limit, price)
        fresh = False
        for row in range(k):
            if spread[row].any() and not any((spread[row] == each).all() for each in columns[row]):
                columns[row].append(spread[row])
                fresh = True
        found = _prices(spreads, limit, columns) if fresh and all(columns) else None
        if found is None:
            break
        full, price_of, shares = found
        if full <= 1.0:
            break
        price = price_of
    return Highest(rate=limit, price=price, shares=shares)


def _lowered(spreads: AnyNumber, limit: float, price: Floats) -> float:
    """The least rate, by bisection, that some prices show to be out of reach, if the limit is one."""
    if spreads.gap(limit, price) <= 0:
        return limit
    low, high = 0.0, limit
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if spreads.gap(middle, price) > 0 else (middle, high)
        if high - low <= 1e-7 * high:
            break
    return high


def _prices(
    spreads: AnyNumber, rate: float, columns: list[list[NDArray[np.int64]]]
) -> tuple[float, Floats, Floats] | None:
    """The least share of the fullest machine that mixtures of some spreads reach, the duals, and the mixtures.

    None if the budget ended.
    """
    # The extra `exact`, and slow to import.
    from ortools.linear_solver import pywraplp

    solver = pywraplp.Solver.CreateSolver("GLOP")
    full = solver.NumVar(0, solver.infinity(), "")
    rows = [solver.Constraint(-solver.infinity(), 0.0) for _ in spreads.free]
    for row, percent in zip(rows, spreads.free.tolist(), strict=True):
        row.SetCoefficient(full, -percent)
    loads = [[spreads.load(rate, number, each) for each in own] for number, own in enumerate(columns)]
    there = np.isfinite(spreads.others) & (spreads.others > 0)
    if there.any():  # tasks without profiles, as one component that is divided at will
        loads.append([np.where(at, spreads.others, 0.0) for at in np.eye(len(rows), dtype=bool)[there]])
    takes: list[list[Any]] = []
    for own in loads:
        takes.append([])
        one = solver.Constraint(1.0, 1.0)
        for load in own:
            take = solver.NumVar(0, solver.infinity(), "")
            one.SetCoefficient(take, 1.0)
            takes[-1].append(take)
            for node in np.flatnonzero(load).tolist():
                rows[node].SetCoefficient(take, float(load[node]))
    solver.Minimize(full)
    if not spreads.budget.run_linear(solver):
        return None
    shares = [
        sum(take.solution_value() * each / each.sum() for take, each in zip(mine, own, strict=True))
        for mine, own in zip(takes, columns, strict=False)
    ]
    return float(solver.Objective().Value()), np.maximum([-row.dual_value() for row in rows], 0.0), np.array(shares)

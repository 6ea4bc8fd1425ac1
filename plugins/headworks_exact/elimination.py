"""Dynamic programming over classes: what the classes that are still to come can add to a pattern, at most.

Classes come one after the other; of those that came, only the ones that exchange tuples with some that are still to
come matter: the frontier. Streams form lines, stars, trees and diamonds, so that it is narrow where the order is good
(bucket elimination; Dechter 1999). What is left of one resource is counted in whole buckets, in favour of the pattern:
the value is an upper bound. A topology takes a slot of a node when its first task comes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from headworks_exact.pattern_model import PatternModel

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

BUCKETS = 192
"""Steps in which a resource is counted, at most."""
CELLS = 80_000
"""Entries of a table, at most, as long as it has 16 buckets."""
ALL_CELLS = (75_000, 300_000)
"""Entries of all tables of a resource, likewise, of coarse and of fine ones: each round of column generation fills them
anew."""


@attrs.frozen(eq=False, kw_only=True)
class Frontiers:
    """Frontiers of a model, and what of its streams the tables count.

    Attributes:
        of: Positions of the classes that matter before position j, ascending, for j = 0..k.
        counted: float64 (k, k), `between` of pairs that the tables count as they are.
        surplus: float64 (k,), gain of a task of each class from earlier classes that its frontier leaves out.
        last: bool (k,), whether a class is the last one of its topology.
        depth: Numbers of free slots that are told apart; 1 where every node has a slot for each topology.
    """

    of: tuple[tuple[int, ...], ...]
    counted: Floats
    surplus: Floats
    last: NDArray[np.bool_]
    depth: int

    @classmethod
    def of_model(cls, model: PatternModel) -> Frontiers:
        """Leave out the streams of least traffic until every table has at most `CELLS` entries of 16 buckets."""
        k = len(model.order)
        last = np.append(model.topology[1:] != model.topology[:-1], True)[:k]
        topologies = len(np.unique(model.topology))
        short = bool((model.slots < topologies).any())
        depth = min(int(model.slots.max(initial=0)), topologies) + 1 if short else 1
        counted, surplus = model.between.copy(), np.zeros(k)
        np.fill_diagonal(counted, 0.0)
        upper = model.between * np.outer(model.count, model.count)
        most = np.log(CELLS / (16 * depth))
        while k and (width := _widths(counted, model.count)).max() > most:
            j = int(width.argmax())
            pairs = np.argwhere(np.triu(counted > 0) & (np.arange(k)[:, None] < j) & (np.arange(k) >= j))
            one, other = pairs[upper[tuple(pairs.T)].argmin()].tolist()
            surplus[other] += counted[one, other] * model.count[one]
            counted[one, other] = counted[other, one] = 0.0
        return cls(of=_frontiers(counted), counted=counted, surplus=surplus, last=last, depth=depth)


def _ends(counted: Floats) -> Ints:
    """The last class with which each one exchanges tuples, itself if there is none behind it."""
    k = np.arange(len(counted))
    found: Ints = np.where(counted > 0, k, k[:, None]).max(axis=1, initial=0)
    return found


def _widths(counted: Floats, count: Ints) -> Floats:
    """Logarithm of the states of the frontier before each class."""
    k, ends = np.arange(len(counted)), _ends(counted)
    there = (k[:, None] < k) & (ends[:, None] >= k)
    found: Floats = np.log(count + 1.0) @ there
    return found


def _frontiers(counted: Floats) -> tuple[tuple[int, ...], ...]:
    k, ends = len(counted), _ends(counted) if len(counted) else np.zeros(0, dtype=np.int64)
    return tuple(tuple(np.flatnonzero((np.arange(k) < j) & (ends >= j)).tolist()) for j in range(k + 1))


@attrs.frozen(eq=False, kw_only=True)
class Completion:
    """Upper bounds on what the classes from each position on add, for one resource.

    Attributes:
        step: Amount of the resource in a bucket; 0 if no task needs any.
        open: For each position a table (states, buckets, slots) for patterns that have tasks of its topology already.
        closed: For each position a table (buckets, slots) for those that have none.
    """

    step: float
    open: tuple[Floats, ...]
    closed: tuple[Floats, ...]

    @classmethod
    def of(
        cls,
        model: PatternModel,
        frontiers: Frontiers,
        gain: Floats,
        price: Floats,
        weight: float,
        resource: int,
        *,
        fine: bool,
    ) -> Completion:
        """Fill the tables from the last class to the first.

        Args:
            model: Classes and groups.
            frontiers: Their frontiers.
            gain: Gain of one task of each class by itself, shape (k,).
            price: Price of so many tasks of each class on a node, shape (k, n).
            weight: Weight of traffic.
            resource: Index of the resource that is counted.
            fine: Whether it is counted in small steps.
        """
        widest = float(model.room[:, resource].max(initial=0.0))
        states = [int(np.prod(model.count[list(each)] + 1)) for each in frontiers.of]
        cells = min(CELLS // max(states), ALL_CELLS[fine] // sum(states)) // frontiers.depth
        buckets = int(np.clip(cells, 16, BUCKETS))
        needs = model.demand[:, resource].any() and widest > 0
        step, buckets = (widest / (buckets - 1), buckets) if needs else (0.0, 1)
        need = model.demand[:, resource] / step * (1 - 1e-12) if step else np.zeros(len(gain))
        after = np.zeros((buckets, frontiers.depth))  # nothing comes after the last topology
        table, opened, closed = after, [after[None]], [after]
        for j in range(len(gain) - 1, -1, -1):
            if frontiers.last[j]:
                after = closed[-1]
                table = after
            table = _before(model, frontiers, gain, price, weight, table, j, float(need[j]))
            opened.append(table.reshape(-1, buckets, frontiers.depth))
            closed.append(_unless_open(after, opened[-1][0]))
        return cls(step=step, open=tuple(reversed(opened)), closed=tuple(reversed(closed)))

    def bucket(self, left: Floats) -> Ints:
        """Bucket of what is left of the resource.

        Args:
            left: Amounts, at least 0.
        """
        buckets = self.closed[0].shape[0]
        if not self.step:
            return np.zeros(len(left), dtype=np.int64)
        found: Ints = np.minimum(np.floor(left / self.step * (1 + 1e-12)), buckets - 1).astype(np.int64)
        return found


def _unless_open(after: Floats, opened: Floats) -> Floats:
    """Table of patterns without tasks of a topology so far: it stays away, or takes a slot where slots are counted."""
    found = np.maximum(after, opened) if after.shape[1] == 1 else after.copy()
    np.maximum(found[:, 1:], opened[:, :-1], out=found[:, 1:])
    return found


def _before(
    model: PatternModel,
    frontiers: Frontiers,
    gain: Floats,
    price: Floats,
    weight: float,
    after: Floats,
    j: int,
    need: float,
) -> Floats:
    """Table before class j from the one behind it: the best number of its tasks, of `need` buckets each, by state.

    What all of them take is counted in whole buckets, and not what each takes: small tasks would take nothing.
    """
    here, there = frontiers.of[j], frontiers.of[j + 1]
    shape = (*(int(model.count[at]) + 1 for at in here), *after.shape[-2:])
    buckets, found = after.shape[-2], np.full(shape, -np.inf)
    own = weight * model.between[j, j]
    slope = np.full((1,) * len(here) + (1, 1), gain[j] + weight * frontiers.surplus[j])
    for axis, at in enumerate(here):  # each task that came and is in the frontier adds what it exchanges
        shape_of = [1] * len(shape)
        shape_of[axis] = shape[axis]
        slope = slope + weight * frontiers.counted[at, j] * np.arange(shape[axis]).reshape(shape_of)
    stays = tuple(slice(None) if at in there else None for at in here)
    for number in range(int(model.count[j]) + 1):
        taken = int(number * need)
        if taken >= buckets:
            break
        rest = after[..., number, :, :] if j in there else after
        rest = rest[(*stays, slice(None, buckets - taken), slice(None))]
        worth = number * slope + own * number * (number - 1) / 2 - price[j, number] + rest
        part = found[..., taken:, :]
        np.maximum(part, worth, out=part)
    return found

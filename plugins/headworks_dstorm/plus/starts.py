"""Starts of `dstorm-plus`, their annealing, and the choice of the best placement as the plan.

Placements are compared by tasks without a node, then by the load that nodes bear where they state a bandwidth or the
cost of transfers is known, then by traffic between nodes and nodes in use together, then by nodes in use and their
price (`Candidate.cost`). A node counts as much as the share `node_cost` of all traffic, or in proportion to its price.
No placement overloads a node; where what runs does, it is not among them.
"""

from __future__ import annotations

from functools import partial
from threading import Event
from typing import TYPE_CHECKING

import attrs
import numpy as np
from numpy.typing import NDArray

from headworks.problem.plan.close import CloseStreams
from headworks.toolbox.cancel import on_cancel
from headworks.toolbox.move_limit import beside_running, plan_within_limit
from headworks.toolbox.node_cost import node_shares
from headworks.toolbox.repair import repair
from headworks_dstorm.availability import by_availability
from headworks_dstorm.fast import place
from headworks_dstorm.plus.anneal import HOT, anneal
from headworks_dstorm.plus.chains import CHAINS, anneal_chains
from headworks_dstorm.plus.close import Relief
from headworks_dstorm.plus.exchange import Exchange
from headworks_dstorm.plus.fill import fill
from headworks_dstorm.plus.groups import regroup
from headworks_dstorm.plus.links import LoadLimits
from headworks_dstorm.plus.multilevel import COOL, multilevel
from headworks_dstorm.plus.whole import MANY, mostly_whole, whole
from headworks_dstorm.settling import runs, schedule, settled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from headworks.model import Plan
    from headworks.problem import Problem
    from headworks_dstorm.options import PlusOptions

EACH, MOST = 1_000, 3_000_000
"""Steps by default: for each task, and at most. More of them find better placements of problems above some 30 tasks."""

A_SECOND = 160_000
"""Steps by default for each second of the deadline, at most: a core makes several times as many. With more of them a
large request is not annealed to the end before the host asks for the best plan so far."""

MILLION = 1_000_000
"""A node's share of all traffic is counted in millionths, so that costs are whole numbers."""

CELLS = 2**26
"""Pairs of a node and a segment of tasks up to which a placement is annealed; 2**26 of them take 512 MB."""

CHAINED = 64
"""Tasks up to which many chains are annealed at once (`headworks_dstorm.plus.chains`). Their steps cost as much as the
square of the number of tasks, and in larger problems a full node blocks fewer changes."""

AFTER_CHAINS = 300
"""Steps for each task of a problem that chains were annealed for; above some 30 tasks they find a little more."""

CHAIN, LONGEST = 16, 512
"""Steps of each chain for each task, and at most."""

LEVELS, NEAR = 5, 0.98
"""Limits of links that are tried, at most, where no placement keeps all; the last ones are nearer than that share."""

CLOSEST = 3
"""Placements that are improved one task after the other, where streams stay in their worker."""

AS_MANY = 500
"""Steps of annealing for each change of groups after it, which takes as long as some 50 of them."""

LITTLE = 20
"""Annealing leaves a `LITTLE`th of a start's traffic at the best: another start of a large problem that would cost
least then is annealed before the one that costs least now."""

REST = 8
"""Part of the steps that a second start of a large problem has, where it still costs least: it needs fewer."""

SMALL = 200
"""Tasks up to which each start is annealed: small problems end in different places. A larger one halves the steps that
a larger problem makes from its better start."""


BY_LEVELS = "by levels"
"""Name of the multilevel start, which is annealed already, at a low temperature."""


@attrs.frozen(kw_only=True)
class Candidate:
    """A placement and where it comes from.

    Attributes:
        unplaced: Tasks without a node.
        excess: Part by which the fullest node has more than it bears, 0 where all bear the load. Where streams stay in
            their worker, the part of the work that is left undone.
        traffic: Units between nodes.
        nodes: Nodes in use.
        price: Sum of their prices, 0 for those that state none.
        total: Units of all traffic.
        nodes_worth: What the nodes in use count as, in millionths of all traffic.
    """

    origin: str
    node_of: NDArray[np.int64] = attrs.field(eq=False)
    unplaced: int
    excess: float
    traffic: int
    nodes: int
    price: float
    total: int
    nodes_worth: int

    @property
    def cost(self) -> tuple[int, float, int, int, float]:
        """Order of placements: see the module."""
        return self.unplaced, self.excess, self.weight, self.nodes, self.price

    @property
    def weight(self) -> int:
        """Traffic and nodes together, in millionths of a unit."""
        return MILLION * self.traffic + self.nodes_worth * self.total


def improve(problem: Problem, options: PlusOptions) -> Plan:
    """Plan with the best placement found; none is worse than D-Storm's or another start.

    A running placement of all tasks that overloads no node stays unless another one is better by `least_gain` of all
    traffic, or is better and needs fewer nodes: consolidation always pays. Asked to end (`headworks.toolbox.cancel`),
    it answers with the best so far: before the fill is made, with D-Storm's.

    Args:
        problem: The problem.
        options: Those of D-Storm, and of the annealing.
    """
    ended = Event()
    on_cancel(ended.set)
    starts = list(_starts(problem, options, ended))
    close = CloseStreams.of(problem) if options.objective == "load" else None
    if close is None:
        found = [*starts, *_annealed(problem, options, starts, ended)]
    else:
        found = list(_by_work(problem, options, Relief(problem, close), starts, ended))
    best = min(found, key=lambda each: each.cost)
    running = _running(problem, options)
    if running is not None and not _pays(running, best, options.least_gain):
        plan = problem.plan(running.node_of, "running tasks stay: " + _compare(problem, running, best))
        if not plan.scores.unplaced:  # topologies that run in one slot are to have one each
            return plan
    early = ", ended early" if ended.is_set() else ""
    said = f"{best.origin}{early}: {_compare(problem, best, *starts)}"
    plans = []
    for candidate in sorted(found, key=lambda each: each.cost):
        plans.append(plan_within_limit(problem, candidate.node_of, said if candidate is best else candidate.origin))
        if not plans[-1].scores.unplaced and not _limited(problem):
            return plans[-1]
    plans += _other_plans(problem, options, best, ended)
    return min(plans, key=partial(_worth, problem, options))


def _by_work(
    problem: Problem, options: PlusOptions, relief: Relief, starts: list[Candidate], ended: Event
) -> Iterator[Candidate]:
    """Candidates by the work that gets done where streams stay in their worker, and what the best of them become."""

    def judged(origin: str, node_of: NDArray[np.int64]) -> Candidate:
        made = _candidate(problem, options, origin, node_of)
        undone, traffic = relief.close.judge(made.node_of)
        return attrs.evolve(made, excess=undone, traffic=traffic)

    def relieved(given: Iterable[Candidate]) -> Iterator[Candidate]:
        every = sorted((judged(each.origin, each.node_of) for each in given), key=lambda each: each.cost)
        yield from every
        if not every or not every[0].excess:  # nothing is left undone
            return
        lighter = [
            judged(f"{each.origin}, relieved", relief.lighter(each.node_of, is_over)) for each in every[:CLOSEST]
        ]
        yield from lighter
        best = min([*every, *lighter], key=lambda each: each.cost)
        yield judged(f"{best.origin}, busier", relief.busier(best.node_of, is_over))

    is_over = ended.is_set
    spread = _candidate(problem, options, "spread", relief.spread(by_availability(problem)))
    yield from relieved([*starts, spread])
    yield from relieved(_annealed(problem, options, starts, ended))


def _other_plans(problem: Problem, options: PlusOptions, best: Candidate, ended: Event) -> Iterator[Plan]:
    """Plans that may leave fewer tasks out, where each of those found so far leaves some: slots decide that."""
    if not _limited(problem) and (problem.current >= 0).any():
        yield beside_running(problem, best.node_of, f"{best.origin}; running tasks stay")
    if not ended.is_set():
        yield settled(problem, partial(schedule, options=options))


def _worth(problem: Problem, options: PlusOptions, plan: Plan) -> tuple[object, ...]:
    """Sort key of plans, the best is least: tasks without a slot, then the order of placements."""
    return plan.scores.unplaced, _candidate(problem, options, "", problem.node_of(plan.assignment)).cost


def _pays(running: Candidate, best: Candidate, least_gain: float) -> bool:
    """Check whether a placement is worth the moves to it from the one that runs."""
    won, relief = running.weight - best.weight, running.excess - best.excess
    if abs(relief) > least_gain:
        return relief > 0
    return won > least_gain * MILLION * running.total or (best.nodes < running.nodes and best.cost < running.cost)


def _limited(problem: Problem) -> bool:
    """Check whether a plan may be carried out in part only, so that plans are compared and not placements."""
    return problem.request.limits.max_moves is not None and bool((problem.current >= 0).any())


def _starts(problem: Problem, options: PlusOptions, ended: Event) -> Iterator[Candidate]:
    greedy = _complete(problem, place(problem, options), options)
    found = [_candidate(problem, options, "dstorm", greedy)]
    yield found[0]
    if ended.is_set():  # a plan is asked for at once, and there is one
        return
    few, mostly = problem.n <= MANY, mostly_whole(problem)
    if few or not mostly:
        along = fill(problem, ended=ended.is_set)
        if (
            greedy < 0
        ).any() and not ended.is_set():  # else a fill that leaves tasks out is the worse start, and not worth a repair
            along = _complete(problem, along, options)
        found.append(_candidate(problem, options, "fill along the streams", along))
        yield found[1]
    if (few or mostly) and not ended.is_set():
        fewest = min(each.nodes for each in found)
        together = whole(problem, fewest, lambda each: _candidate(problem, options, "", each).cost, ended.is_set)
        found.append(_candidate(problem, options, "whole topologies", together))
        yield found[-1]
    if not ended.is_set():
        yield from _by_levels(problem, options, found, ended)


def _by_levels(problem: Problem, options: PlusOptions, found: list[Candidate], ended: Event) -> Iterator[Candidate]:
    """The multilevel start on as many nodes as the others need at least, none where nothing tells tasks apart."""
    if problem.n <= CHAINED or 2 * int(problem.traffic.sparse.rate.sum()) < problem.traffic.total:
        return
    nodes = by_availability(problem)
    nodes = nodes[: min(each.nodes for each in found) + 1] if options.node_cost else nodes
    placed = multilevel(
        problem, nodes, node_cost=_node_cost(problem, options), seed=problem.request.seed, ended=ended.is_set
    )
    if placed is not None:
        yield _candidate(problem, options, BY_LEVELS, _complete(problem, placed, options))


def _complete(problem: Problem, node_of: NDArray[np.int64], options: PlusOptions) -> NDArray[np.int64]:
    if options.fallback == "none" or (node_of >= 0).all():
        return node_of
    return repair(problem, node_of, by_availability(problem))


def _annealed(problem: Problem, options: PlusOptions, starts: list[Candidate], ended: Event) -> Iterator[Candidate]:
    """Small problems are annealed from each start, large ones from one or two; none where a start costs least of all.

    Where links have more than they bear, that is repeated with other limits, halfway between one that was kept and one
    that was not, so that the fullest one gets as little as possible.
    """
    fewest = min(each.unplaced for each in starts)
    chosen = sorted((each for each in starts if each.unplaced == fewest), key=lambda each: each.cost)
    if _costs_least(problem, chosen[0]):
        return
    begun = chosen if problem.n <= SMALL else _promising(problem, chosen)
    low, level, best = 1.0, 1.0, chosen[0]
    for _ in range(LEVELS):
        for found in _searched(problem, options, starts, begun, level, ended):
            best = min(best, found, key=lambda each: each.cost)
            yield found
        if not best.excess or ended.is_set():
            break
        low = low if best.excess + 1 <= level else level
        starts = begun = [best]
        level = (low + 1 + best.excess) / 2
        if level > NEAR * (1 + best.excess):
            break


def _searched(
    problem: Problem,
    options: PlusOptions,
    starts: list[Candidate],
    begun: list[Candidate],
    level: float,
    ended: Event,
) -> Iterator[Candidate]:
    """Placements that annealings find from some others, with limits of loads at a multiple of what nodes bear.

    Args:
        starts: Where chains begin, which find room for tasks without a node.
        begun: Where further annealings begin.
        level: The multiple.
    """
    limits = LoadLimits.of(problem) if options.objective == "load" else None
    limits = None if limits is None else limits.times(level)
    if problem.n <= CHAINED:
        for chained in _chained(problem, options, starts, limits, ended):
            begun = [chained, *begun]
            yield chained
    exchange = Exchange(problem)
    if problem.m * exchange.segments > CELLS:  # what nodes exchange with segments is one array
        return
    steps = _steps(problem) if options.steps is None else options.steps
    least = begun[-1].cost
    for number, start in enumerate(begun):
        if problem.n > SMALL and number and start.cost > least:  # it was overtaken
            break
        part = _part(problem, steps, number, len(begun))
        if start.origin == BY_LEVELS and problem.n > MANY and limits is None:  # its own annealing has found nearly all
            continue
        node_of = _walked(problem, options, exchange, start, part, limits, ended)
        how = f"{'up to ' if ended.is_set() else ''}{part} steps of annealing (seed {problem.request.seed})"
        found = _candidate(problem, options, f"{start.origin}, {how}", node_of)
        least = min(least, found.cost)
        yield found


def _chained(
    problem: Problem, options: PlusOptions, starts: list[Candidate], limits: LoadLimits | None, ended: Event
) -> Iterator[Candidate]:
    """The placement that chains find, none where they find none within the limits."""
    length = min(CHAIN * problem.n, LONGEST) if options.steps is None else -(-options.steps // CHAINS)
    found = anneal_chains(
        problem,
        [each.node_of for each in starts],
        node_cost=_node_cost(problem, options),
        limits=limits,
        steps=length,
        seed=problem.request.seed,
        ended=ended.is_set,
    )
    if found is not None:
        yield _candidate(problem, options, f"{CHAINS} chains of {length} steps", found)


def _walked(
    problem: Problem,
    options: PlusOptions,
    exchange: Exchange,
    start: Candidate,
    steps: int,
    limits: LoadLimits | None,
    ended: Event,
) -> NDArray[np.int64]:
    """A placement after so many steps of tasks, and then some of groups where no load has a limit."""
    seed, node_cost = problem.request.seed, _node_cost(problem, options)
    found = anneal(
        problem,
        exchange,
        start.node_of,
        steps=steps,
        seed=seed,
        node_cost=node_cost,
        limits=limits,
        hot=COOL if start.origin == BY_LEVELS else HOT,
        ended=ended.is_set,
    )
    if problem.n <= CHAINED or problem.n > MANY or limits is not None:
        return found
    groups = steps // AS_MANY
    return regroup(problem, exchange, found, steps=groups, seed=seed, node_cost=node_cost, ended=ended.is_set)


def _node_cost(problem: Problem, options: PlusOptions) -> NDArray[np.float64]:
    """Units of traffic that each node in use counts as, whole numbers, float64 (m,)."""
    total = problem.traffic.total
    return np.array([total * each // MILLION for each in _millionths(problem, options)], dtype=np.float64)


def _millionths(problem: Problem, options: PlusOptions) -> list[int]:
    """Millionths of all traffic that each node in use counts as."""
    shares = node_shares(problem, options.node_cost, by_price=options.by_price)
    return [round(each * MILLION) for each in shares.tolist()]


def _part(problem: Problem, steps: int, number: int, of: int) -> int:
    """Steps of an annealing by its number: small problems have equal parts, of large ones the second has the rest."""
    if problem.n <= SMALL or of == 1:
        return steps // of
    return steps // REST if number else steps - steps // REST


def _promising(problem: Problem, starts: list[Candidate]) -> list[Candidate]:
    """Of starts in order of cost the first, after that one which would cost least with little of its traffic."""
    first, *others = starts if problem.n <= MANY else starts[:1]
    left = [attrs.evolve(each, traffic=each.traffic // LITTLE).cost for each in others]
    if left and min(left) < first.cost:
        return [others[left.index(min(left))], first]
    return [first]


def _costs_least(problem: Problem, start: Candidate) -> bool:
    """Check whether no placement costs less: no traffic between nodes, on as few nodes as have the capacity."""
    if start.unplaced or start.traffic or (problem.prices != problem.prices[:1]).any():
        return False
    have = np.cumsum(-np.sort(-problem.capacity, axis=0), axis=0)
    need = problem.demand.sum(axis=0)
    return bool(start.nodes <= 1 or (have[start.nodes - 2] < need).any())


def _steps(problem: Problem) -> int:
    """Steps by default."""
    each = AFTER_CHAINS if problem.n <= CHAINED else EACH
    return int(min(each * problem.n, MOST, A_SECOND * problem.request.limits.deadline))


def _running(problem: Problem, options: PlusOptions) -> Candidate | None:
    """Placement that runs, None if some task runs nowhere, a node is overloaded or a hard constraint is broken."""
    if not problem.n or not runs(problem) or problem.breaks(problem.current):
        return None
    return _candidate(problem, options, "running", problem.current)


def _candidate(problem: Problem, options: PlusOptions, origin: str, node_of: NDArray[np.int64]) -> Candidate:
    node_of = problem.repair(node_of)
    placed = node_of[node_of >= 0]
    fullest = problem.load(node_of).max(initial=0.0) if options.objective == "load" else 0.0
    used, millionths = np.unique(placed), _millionths(problem, options)
    return Candidate(
        origin=origin,
        node_of=node_of,
        unplaced=problem.n - len(placed),
        traffic=problem.traffic.inter_node(node_of),
        excess=max(float(fullest) - 1.0, 0.0),
        nodes=len(used),
        price=float(problem.prices[used].sum()),
        total=problem.traffic.total,
        nodes_worth=sum(millionths[each] for each in used.tolist()),
    )


def _compare(problem: Problem, chosen: Candidate, *others: Candidate) -> str:
    total = max(problem.traffic.total, 1)
    beside = ", ".join(f"{each.origin} {each.traffic / total:.1%}, {each.nodes}" for each in others)
    return f"{chosen.traffic / total:.1%} of the traffic between nodes, {chosen.nodes} in use ({beside})"

"""From a request to the plan of `hetero-plus`: the starts, and the local search from them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from headworks.problem import Problem
from headworks.problem.arrays.profiles import OVER
from headworks.toolbox.best_response import fewest_tasks
from headworks.toolbox.instance_counts import InstanceCounts
from headworks.toolbox.node_cost import node_shares
from headworks_hetero.first_assignment import first_assignment
from headworks_hetero.maximize_throughput import maximize_throughput
from headworks_hetero.options import Options
from headworks_hetero.planning import NO_PROFILES, NO_TUPLES, at_most, highest, steady
from headworks_hetero.plus.batch_additions import maximize_throughput_in_batches
from headworks_hetero.plus.best_response import GAIN
from headworks_hetero.plus.exchange import exchange
from headworks_hetero.plus.fewer_nodes import on_fewer_nodes
from headworks_hetero.plus.joint import with_network
from headworks_hetero.plus.network import Network
from headworks_hetero.plus.packing import packed
from headworks_hetero.plus.search import search
from headworks_hetero.plus.start import first_tasks

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from headworks.model import Plan, Request
    from headworks_hetero.graph import Graph
    from headworks_hetero.options import PlusOptions

    Counts = NDArray[np.int64]

NO_LIMIT = "these tasks are where no rate costs anything: the highest rate of Algorithm 2 is planned"


def improved(request: Request, options: PlusOptions) -> Plan:
    """Plan with the best of Algorithm 2, of its variant in batches and of packing, and of a search from these.

    Args:
        request: The request.
        options: First rate and budgets of the search.
    """
    instances = InstanceCounts.of(request)
    if not len(instances.parts):
        return instances.others(NO_PROFILES)
    free, model = instances.free.clip(min=0.0), instances.profiled
    if options.counts == "given":
        return _exchanged(instances, options)
    graph, misfit = first_assignment(instances, options.initial_rate, given=False)
    # FirstAssignment looks at one component after another; what it overloads may fit elsewhere.
    first = graph.counts if misfit is None and highest(graph) > 0 else first_tasks(instances)
    if first is None:
        said = f"the first assignment is over-utilised at {options.initial_rate:g} tuples/s"
        if misfit is not None:
            return instances.refuse(instances.no_machine(misfit))
        return at_most(instances, graph.counts, said)
    if not math.isfinite(model.max_factor(first, free)) or not model.spout_rate > 0:
        return instances.plan(first, 1.0, NO_TUPLES)
    literal, batches = _grown(graph, options) if misfit is None else (None, None)
    starts = [first, *(each.counts for each in (literal, batches) if each is not None)]
    printed = highest(literal) if literal is not None else 0.0
    known = max(model.max_factor(each, free) for each in starts)
    better = packed(instances, known, request.seed, options.trials, options.max_tasks)
    starts = starts if better is None else [*starts, better]
    counts = search(instances, starts, request.seed, options.budget, options.max_tasks)
    if not math.isfinite(model.max_factor(counts, free)):
        return instances.plan(counts, max(known, 1.0), NO_LIMIT)
    if not model.max_factor(counts, free) > 0:
        return at_most(instances, counts, "no placement was found that leaves CPU for tuples")
    return _fewest(instances, counts, options, known, printed)


def _fewest(instances: InstanceCounts, counts: Counts, options: PlusOptions, known: float, printed: float) -> Plan:
    """The plan of counts of the highest rate, on fewer nodes and with fewer tasks as far as the options want that.

    Args:
        known: The rate from which the search began, as a factor of the stated rates.
        printed: The rate of Algorithm 2, below which fewer tasks alone do not go.
    """
    model, free = instances.profiled, instances.free.clip(min=0.0)
    best = rate = model.max_factor(counts, free)
    if options.node_cost > 0:
        shares = node_shares(Problem.of(instances.request), options.node_cost, by_price=options.by_price)
        instances, counts = on_fewer_nodes(instances, counts, shares, budget=options.budget, most=options.max_tasks)
        printed, rate = 0.0, model.max_factor(counts, free)
    counts = fewest_tasks(instances, counts, max(rate * (1 - options.within), printed) * (1 - OVER))
    rate = model.max_factor(counts, free)
    fewer = "nodes and tasks" if options.node_cost else "tasks"
    said = f"; {rate / best:.1%} of the highest rate found, with fewer {fewer}" if rate < best * (1 - GAIN) else ""
    plan = instances.plan(counts, rate, f"{int(counts.sum())} tasks; refined from {known / rate:.1%} of the rate{said}")
    network = Network.of(instances)
    return plan if network is None else with_network(network, counts, plan, options)


def _exchanged(instances: InstanceCounts, options: PlusOptions) -> Plan:
    """The plan with the numbers of tasks that there are: the first assignment, and exchanges with other machines."""
    graph, misfit = first_assignment(instances, options.initial_rate, given=True)
    if misfit is not None:
        return instances.refuse(instances.no_machine(misfit))
    if not steady(graph):
        return instances.plan(graph.counts, 1.0, NO_TUPLES)
    first = highest(graph)
    if not first > 0:
        return at_most(instances, graph.counts, "the first assignment is over-utilised")
    counts = exchange(instances, graph.counts, int(graph.counts.sum()), given=True)
    rate = instances.profiled.max_factor(counts, instances.free.clip(min=0.0))
    said = f"{int(counts.sum())} tasks, as given; refined from {first / rate:.1%} of the rate"
    plan, network = instances.plan(counts, rate, said), Network.of(instances)
    return plan if network is None else with_network(network, counts, plan, options)


def _grown(graph: Graph, options: PlusOptions) -> tuple[Graph | None, Graph | None]:
    """The graphs of Algorithm 2 and of its variant in batches, None where they have no stable state."""
    reading = Options(initial_rate=options.initial_rate, max_tasks=options.max_tasks)
    return maximize_throughput(graph.copy(), reading).graph, maximize_throughput_in_batches(graph.copy(), options)

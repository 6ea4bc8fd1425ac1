"""From a request to the plan that Algorithms 1 and 2 make of it."""

from __future__ import annotations

import math
from graphlib import CycleError
from typing import TYPE_CHECKING

import numpy as np

from headworks.model import Reason
from headworks.problem.arrays.profiles import FULL
from headworks.toolbox.instance_counts import InstanceCounts
from headworks_hetero.first_assignment import first_assignment
from headworks_hetero.graph import LIMIT, Graph
from headworks_hetero.maximize_throughput import maximize_throughput

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headworks.model import Plan, Request
    from headworks_hetero.options import Options

NO_PROFILES = "no component has a profile: each task is where it takes the least share of the CPU"
CYCLE = Reason(
    code="cycle",
    subject="streams",
    message="streams form a cycle, in which Eq. 6 has no rates by task",
)
NO_TUPLES = "no rate of these components costs anything, or no spout emits: the stated input rate stands"


def as_printed(request: Request, options: Options) -> Plan:
    """Plan with Algorithms 1 and 2 as they are printed.

    Args:
        request: The request.
        options: R0, and how what the paper leaves open is read.
    """
    instances = InstanceCounts.of(request)
    if not len(instances.parts):
        return instances.others(NO_PROFILES)
    try:
        graph, misfit = first_assignment(
            instances, options.initial_rate, given=options.counts == "given", downstream=options.downstream
        )
    except CycleError:
        return instances.refuse(CYCLE)
    if misfit is not None:
        return instances.refuse(instances.no_machine(misfit))
    if not steady(graph):
        return instances.plan(graph.counts, 1.0, NO_TUPLES)
    found = maximize_throughput(graph.copy(), options)
    if found.graph is None:
        said = f"the first assignment is over-utilised at {options.initial_rate:g} tuples/s"
        return at_most(instances, graph.counts, said)
    said = f"{len(found.accepted)} stable states, Scale {found.scale:g}, {int(found.graph.total.sum())} tasks"
    rate = found.rate / instances.profiled.spout_rate
    if options.downstream == "tasks":  # the rate of that reading is none that the topology sustains, or too low
        rate, said = highest(found.graph), f"{said}; {found.rate:g} tuples/s if all tasks downstream shared output"
    return instances.plan(found.graph.counts, rate, said)


def steady(graph: Graph) -> bool:
    """Check that a higher input rate takes more of some machine, so that there is a highest one."""
    return math.isfinite(highest(graph)) and graph.instances.profiled.spout_rate > 0


def highest(graph: Graph) -> float:
    """The closed form: the highest factor of the stated rates that overloads no machine."""
    return graph.instances.profiled.max_factor(graph.counts, np.maximum(graph.instances.free, 0.0))


def at_most(instances: InstanceCounts, counts: NDArray[np.int64], said: str) -> Plan:
    """The plan of some tasks at the highest rate that they sustain, infeasible if fixed costs alone fill a machine.

    Args:
        instances: Components, machines, profiles, and room for tasks.
        counts: Tasks by component and machine, shape (K, m).
        said: Reason that the search ended, for the explanation.
    """
    model, free = instances.profiled, np.maximum(instances.free, 0.0)
    factor = model.max_factor(counts, free)
    if factor > 0:
        return instances.plan(counts, factor, f"{said}; its highest rate is taken")
    need = FULL - free + np.where(counts > 0, counts * model.met, 0.0).sum(axis=0)
    node = int(need.argmax())
    if need[node] <= LIMIT and not model.most_by_threads(counts) > 0:
        return instances.plan(counts, 0.0, f"{said}; the threads of a task are full before the first tuple")
    name = sorted(each.id for each in instances.request.cluster.nodes)[node]
    message = f"node {name} would be {need[node]:g} % busy before the first tuple: {said}"
    return instances.refuse(
        Reason(code="capacity", subject=name, message=message, resource="cpu", need=float(need[node]), have=FULL)
    )

"""Small clusters and topologies for the tests of Storm's schedulers."""

import inspect

import numpy as np

from headworks.model import Cluster, Component, Kind, Node, Request, Resources, Stream, Topology
from headworks.problem import Problem


def nodes(*sizes, slots=4, **fields):
    """Nodes n0, n1 ... of the (cpu, memory) given."""
    return tuple(
        Node(
            id=f"n{number}",
            capacity=Resources(cpu=cpu, memory=memory),
            slots=tuple(range(slots)),
            **{name: values[number] for name, values in fields.items()},
        )
        for number, (cpu, memory) in enumerate(sizes)
    )


def part(name, parallelism=1, cpu=50.0, memory=1.0, **fields):
    kind = Kind.SPOUT if name.startswith("spout") else Kind.BOLT
    demand = Resources(cpu=cpu, memory=memory)
    return Component(id=name, kind=kind, parallelism=parallelism, demand=demand, **fields)


def topology(name, parts, edges=(), **fields):
    """Edges are (source, target) or (source, target, rate)."""
    streams = tuple(Stream(source=e[0], target=e[1], rate=e[2] if len(e) > 2 else 1.0) for e in edges)
    return Topology(id=name, components=tuple(parts), streams=streams, **fields)


def request(cluster, *topologies, **fields):
    return Request(cluster=Cluster(nodes=cluster), topologies=topologies, **fields)


def chain():
    """Vector C1 of D-Storm: A-B 10, B-C 100, C-D 10; two nodes for two tasks each."""
    edges = (("A", "B", 10.0), ("B", "C", 100.0), ("C", "D", 10.0))
    return request(nodes((100, 10), (100, 10)), topology("t", [part(name) for name in "ABCD"], edges))


def where(plan):
    """Node of each task, by `component/index` (topology in front if it is not t)."""
    return {task.removeprefix("t/"): slot.node for task, slot in plan.assignment.items()}


def node_numbers(plan, component, topology="t"):
    """Numbers of the nodes of a component's tasks, by index."""
    prefix = f"{topology}/{component}/"
    found = sorted(
        (int(task.removeprefix(prefix)), slot) for task, slot in plan.assignment.items() if task.startswith(prefix)
    )
    return [int(slot.node.removeprefix("n")) for _, slot in found]


def shuffled(request_, seed):
    """The same request, its document in another order."""
    import attrs

    random = np.random.default_rng(seed)

    def mix(values):
        return tuple(values[index] for index in random.permutation(len(values)))

    topologies = (
        attrs.evolve(each, components=mix(each.components), streams=mix(each.streams)) for each in request_.topologies
    )
    cluster = attrs.evolve(request_.cluster, nodes=mix(request_.cluster.nodes))
    return attrs.evolve(request_, cluster=cluster, topologies=mix(tuple(topologies)))


def ask(scheduler, request, options):
    """The plan of a scheduler object, which is given what it takes: the request, its arrays, or both."""
    offered = {"request": request, "problem": Problem.of(request), "options": options}
    taken = inspect.signature(scheduler.headworks_schedule).parameters
    return scheduler.headworks_schedule(**{name: offered[name] for name in taken})

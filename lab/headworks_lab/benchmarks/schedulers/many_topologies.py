"""Many small topologies, an operator's normal cluster: schedulers beside a plain rival, whole topologies first.

    python -m headworks_lab.benchmarks.schedulers.many_topologies [--schedulers NAME ...] [--large] [--seeds N]
        [--tasks N] [--constraints] [--deadline SECONDS]

The rival puts each topology on the node that it leaves fullest, and divides only one that fits nowhere. `share` is that
of all traffic between nodes, and `gap` what it is above the bound of `optimal`. CPU seconds are those of this process,
from request to checked plan. With `--constraints`, every other topology has one.
"""

from __future__ import annotations

import argparse
import random
import time
from typing import TYPE_CHECKING

import attrs
import numpy as np

from headworks import PluginHost
from headworks.cli.output import console, table
from headworks.model import (
    Cluster,
    Component,
    Constraint,
    ConstraintKind,
    FrozenMap,
    Kind,
    Limits,
    Node,
    Request,
    Resources,
    Stream,
    Topology,
)
from headworks.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

COLUMNS = ("tasks / topologies / nodes", "seed", "scheduler", "share", "gap", "nodes", "CPU s", "how")
SETTINGS = ((100, 4, 0.85, 12), (200, 6, 0.9, 8), (200, 8, 0.9, 8), (500, 12, 0.9, 8), (1_000, 30, 0.85, 12))
"""Tasks, nodes, load, and most tasks of a component."""
LARGE = (10_000, 200, 0.9, 8)


def many_topologies(
    tasks: int, nodes: int, seed: int, *, load: float = 0.9, widest: int = 8, constraints: bool = False
) -> Request:
    """Topologies of three to six components on equal nodes with slots for all; CPU alone is short.

    Args:
        tasks: Number of tasks of all of them.
        nodes: Number of nodes.
        seed: Of all that is random.
        load: Share of the nodes' CPU that the tasks need.
        widest: Tasks of a component, at most.
        constraints: Whether every other topology has a constraint.
    """
    dice, topologies, left = random.Random(f"many {tasks} {nodes} {seed}"), [], tasks
    while left > 0:
        widths = [dice.randint(1, widest) for _ in range(dice.randint(3, 6))]
        while sum(widths) > left:
            widths[widths.index(max(widths))] -= 1
        widths = [width for width in widths if width]
        topologies.append(_topology(dice, f"t{len(topologies):04d}", widths))
        left -= sum(widths)
    need = sum(part.parallelism * part.demand.cpu for each in topologies for part in each.components)
    capacity = Resources(cpu=round(need / load / nodes, 3))
    cluster = Cluster(
        nodes=tuple(
            Node(
                id=f"n{at:04d}", capacity=capacity, slots=tuple(range(400)), rack=f"r{at % 3}" if constraints else None
            )
            for at in range(nodes)
        )
    )
    if constraints:
        topologies[::2] = [_constrained(dice, each) for each in topologies[::2]]
    return Request(cluster=cluster, topologies=tuple(topologies))


def _constrained(dice: random.Random, topology: Topology) -> Topology:
    """The topology with two tasks of its first component a node at most, or with that apart, or off some racks."""
    first = (topology.components[0].id,)
    constraint = dice.choice(
        (
            Constraint(kind=ConstraintKind.AT_MOST, components=first, limit=2),
            Constraint(kind=ConstraintKind.APART, components=first),
            Constraint(kind=ConstraintKind.NEVER_ON, labels=FrozenMap(rack=(f"r{dice.randrange(3)}",))),
        )
    )
    return attrs.evolve(topology, constraints=(constraint,))


def _topology(dice: random.Random, name: str, widths: list[int]) -> Topology:
    pairs = sorted({(dice.randrange(target), target) for target in range(1, len(widths)) for _ in range(2)})
    bolts = {target for _, target in pairs}
    parts = tuple(
        Component(
            id=f"c{at}",
            kind=Kind.BOLT if at in bolts else Kind.SPOUT,
            parallelism=width,
            demand=Resources(cpu=float(dice.choice((5, 10, 15, 20, 30)))),
            rate=None if at in bolts else float(dice.choice((100, 500, 1000))),
            selectivity=dice.choice((0.5, 1.0, 2.0)),
        )
        for at, width in enumerate(widths)
    )
    streams = tuple(Stream(source=f"c{source}", target=f"c{target}") for source, target in pairs)
    return Topology(id=name, components=parts, streams=streams)


def whole_first(problem: Problem) -> NDArray[np.int64]:
    """The rival: topologies by size, each on the fullest node that has room for all of it, else over the emptiest.

    Returns:
        Node index of each task, int64 (n,), -1 where nothing fits.
    """
    room, need = problem.room(), np.zeros((len(problem.topology_ids), problem.demand.shape[1]))
    np.add.at(need, problem.topology, problem.demand)
    widest = problem.capacity.max(axis=0)
    size = (need / np.where(widest > 0, widest, 1.0)).max(axis=1)
    rest = []
    for topology in np.argsort(-size, kind="stable").tolist():
        tasks = np.flatnonzero((problem.topology == topology) & (problem.fixed < 0)).tolist()
        wide = np.flatnonzero((room.free >= need[topology]).all(axis=1) & (room.free_slots > 0))
        for node in wide[np.argsort((room.free[wide] - need[topology]).sum(axis=1), kind="stable")][:3].tolist():
            placed = [task for task in tasks if room.place_if_fits(task, node)]
            if len(placed) == len(tasks):
                break
            for task in placed:
                room.remove(task)
        else:
            rest.append(tasks)
    for tasks in rest:
        for node in np.argsort(-room.free[:, 0], kind="stable").tolist():
            tasks = [task for task in tasks if not room.place_if_fits(task, node)]
    return room.node_of


def measure(request: Request, schedulers: list[str], host: PluginHost, deadline: float) -> Iterator[tuple[str, ...]]:
    """Name, share, gap, nodes, seconds and explanation of the rival and of each scheduler."""
    begin = time.process_time()
    problem = Problem.of(attrs.evolve(request))
    rival = problem.plan(whole_first(problem))
    yield "whole first", f"{rival.scores.share:.2%}", "", f"{rival.scores.nodes_used}", _since(begin), ""
    for name in schedulers:
        begin = time.process_time()
        plan = host.schedule(name, attrs.evolve(request, limits=Limits(deadline=deadline)))
        took = _since(begin)
        gap = (plan.scores.inter_node - plan.bound.value) / plan.scores.traffic if plan.bound is not None else None
        said = "" if gap is None else "proven" if plan.bound and plan.bound.proven else f"{gap:.2%}"
        yield name, f"{plan.scores.share:.2%}", said, f"{plan.scores.nodes_used}", took, plan.explanation[:90]


def _since(begin: float) -> str:
    return f"{time.process_time() - begin:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--schedulers", nargs="+", default=["dstorm", "dstorm-plus", "resource-aware"], help="names")
    parser.add_argument("--large", action="store_true", help="10,000 tasks on 200 nodes alone")
    parser.add_argument("--seeds", type=int, default=2, help="requests of each kind")
    parser.add_argument("--tasks", type=int, help="requests with so many tasks alone")
    parser.add_argument("--constraints", action="store_true", help="every other topology has one")
    parser.add_argument("--deadline", type=float, default=Limits().deadline, help="seconds of each scheduler")
    asked, rows = parser.parse_args(), []
    host = PluginHost.load()
    for tasks, nodes, load, widest in (LARGE,) if asked.large else SETTINGS:
        if asked.tasks not in (None, tasks):
            continue
        for seed in range(1, asked.seeds + 1):
            request = many_topologies(tasks, nodes, seed, load=load, widest=widest, constraints=asked.constraints)
            size = f"{tasks:,} / {len(request.topologies)} / {nodes}"
            rows += [(size, f"{seed}", *row) for row in measure(request, asked.schedulers, host, asked.deadline)]
    console().print(table("many small topologies", COLUMNS, rows, numbers=COLUMNS[3:7]))


if __name__ == "__main__":
    main()

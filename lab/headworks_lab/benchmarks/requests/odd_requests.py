"""Random requests that are valid and odd: plans of built-in schedulers that are held, or refused without a reason.

`python -m headworks_lab.benchmarks.requests.odd_requests FIRST LAST [SCHEDULER ...]` asks each scheduler for a plan of
each seed's request, all of them where none is named. The cases of `headworks.testing.instances.edge_cases` come
together here: nodes without slots or capacity, topologies that may not move, limits that bind, measurements that
differ, profiles at and beyond their edges, nodes that are desired and are not there.
Exit code 1: a plan is held, or one that is infeasible has no reason.
"""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from typing import Any

import attrs

from headworks import PluginHost
from headworks.model import Cluster, FrozenMap, Limits, Profile, Request, Resources, Slot, Status, Topology
from headworks.testing.instances.build import SeededDice, build_request, constrained
from headworks.testing.instances.profiled import build_profiled

DEADLINE = 60.0
"""Seconds for a plan: it is the outcome that is judged here, and not the speed of a machine that is busy."""
PROGRESS = 500
"""Requests between two lines of progress."""


def odd_request(seed: int) -> Request:
    """Make the request of a seed: random, with one to four oddities.

    Args:
        seed: Any number.
    """
    dice = SeededDice(random.Random(seed))
    request = build_profiled(dice) if seed % 3 == 0 else build_request(dice, fresh=seed % 3 == 1)
    for change in dice.random.sample(CHANGES, dice.number(1, 4)):
        request = change(dice, request)
    return attrs.evolve(request, limits=attrs.evolve(request.limits, deadline=DEADLINE))


def _no_slots(dice: SeededDice, request: Request) -> Request:
    return _with_node(dice, request, slots=())


def _no_capacity(dice: SeededDice, request: Request) -> Request:
    return _with_node(dice, request, slots=(), capacity=Resources())


def _huge(dice: SeededDice, request: Request) -> Request:
    return _with_node(dice, request, capacity=Resources(cpu=1e12, memory=1e12))


def _tiny(dice: SeededDice, request: Request) -> Request:
    return _with_node(dice, request, capacity=Resources(cpu=1e-6, memory=1e-6))


def _with_node(dice: SeededDice, request: Request, **fields: Any) -> Request:
    at, nodes = dice.number(0, len(request.cluster.nodes) - 1), list(request.cluster.nodes)
    nodes[at] = attrs.evolve(nodes[at], **fields)
    return attrs.evolve(request, cluster=Cluster(nodes=tuple(nodes)))


def _pinned(dice: SeededDice, request: Request) -> Request:
    return _with_parts(dice, request, movable=False)


def _free(dice: SeededDice, request: Request) -> Request:
    return _with_parts(dice, request, demand=Resources(), heap=0.0)


def _silent(dice: SeededDice, request: Request) -> Request:
    return _with_parts(dice, request, rate=0.0, selectivity=0.0)


def _with_parts(dice: SeededDice, request: Request, **fields: Any) -> Request:
    at, topologies = dice.number(0, len(request.topologies) - 1), list(request.topologies)
    parts = tuple(attrs.evolve(part, **fields) for part in topologies[at].components)
    topologies[at] = attrs.evolve(topologies[at], components=parts)
    return attrs.evolve(request, topologies=tuple(topologies))


def _claims(dice: SeededDice, request: Request) -> Request:
    def claim(topology: Topology) -> Topology:
        desired = dice.pick((None, 0, 1, 2, 100))
        least = dice.number(0, desired) if desired else dice.pick((None, 0))
        return attrs.evolve(topology, desired_nodes=desired, minimum_nodes=least, priority=dice.number(0, 3))

    return attrs.evolve(request, topologies=tuple(map(claim, request.topologies)))


def _stay(dice: SeededDice, request: Request) -> Request:
    return attrs.evolve(request, limits=Limits(restarts=False, max_moves=dice.pick((None, 0))))


def _few_moves(dice: SeededDice, request: Request) -> Request:
    return attrs.evolve(request, limits=Limits(max_moves=dice.pick((0, 1, 2))))


def _gone(dice: SeededDice, request: Request) -> Request:
    tasks = [task.id for topology in request.topologies for task in topology.tasks() if dice.number(0, 1)]
    lost = dict.fromkeys(tasks, Slot("gone", 6700)) if len(request.topologies) == 1 else {}
    return attrs.evolve(request, assignment=FrozenMap({**request.assignment, **lost}))


def _edges(dice: SeededDice, request: Request) -> Request:
    def edge(profile: Profile) -> Profile:
        return attrs.evolve(profile, e=dice.pick((0.0, profile.e, 1e-9, 1e3)), met=dice.pick((0.0, 120.0, profile.met)))

    kept = tuple(edge(each) for each in request.profiles if dice.number(0, 5))
    return attrs.evolve(request, profiles=kept)


CHANGES = (
    *(_no_slots, _no_capacity, _huge, _tiny, _pinned, _free, _silent, _claims, _stay, _few_moves, _gone, _edges),
    constrained,
)
"""Oddities; each makes a valid request of a valid request."""


def main(first: int, last: int, names: list[str]) -> int:
    """Print outcomes by scheduler, and each seed whose plan is held or says nothing; how many those are.

    Args:
        first: First seed.
        last: Seed after the last one.
        names: Schedulers; all where there are none.
    """
    host, outcomes, faults, begin = PluginHost.load(), Counter[tuple[str, str]](), 0, time.process_time()
    for seed in range(first, last):
        request = odd_request(seed)
        for name in names or host.schedulers:
            plan = host.schedule(name, request)
            outcomes[name, str(plan.status)] += 1
            if plan.status is Status.HELD or (plan.status is Status.INFEASIBLE and not plan.reasons):
                faults += 1
                print(seed, name, plan.status, *(each.message for each in plan.reasons[:1]), flush=True)
        if (seed + 1 - first) % PROGRESS == 0:
            print(f"{seed + 1 - first} of {last - first}", file=sys.stderr, flush=True)
    for (name, outcome), count in sorted(outcomes.items()):
        print(f"{name:16} {outcome:12} {count}")
    seconds = time.process_time() - begin
    print(f"{faults} of {sum(outcomes.values())} plans are held or say nothing, {seconds:.0f} s of CPU")
    return faults


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]) > 0)

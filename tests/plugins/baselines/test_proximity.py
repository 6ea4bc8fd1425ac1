"""The sorted first fit against the same rule written out plainly, with a sort wherever Storm sorts."""

from hypothesis import given

from headgate.problem import Problem
from headgate.testing.build import Size
from headgate.testing.strategies import requests
from headgate_baselines.order import connection_order
from headgate_baselines.proximity import Proximity
from headgate_baselines.rules import Racks
from headgate_baselines.start import start, waiting_by_component


def node_order(problem, room, topology, task):
    nodes = sorted(problem.request.cluster.nodes, key=lambda node: node.id)
    place = [(node.rack or "", node.hostname) for node in nodes]
    runs = [sum(room.node_of[problem.topology == topology] == index) for index in range(problem.m)]

    def share(members, whole):
        free = room.free[members].sum(axis=0)
        total = room.free[whole].sum(axis=0)
        signs = [1 if index < 2 or problem.demand[task, index] > 0 else -1 for index in range(len(total))]
        return [sign * (f / t if t > 0 else 0.0) for sign, f, t in zip(signs, free, total, strict=True)]

    def key(members, whole, name):
        shares = share(members, whole)
        return (-sum(runs[index] for index in members), -sum(shares), -min(shares), name)

    def members(test):
        return [index for index in range(problem.m) if test(place[index])]

    def whole_key(index):
        rack, host = place[index]
        everything = list(range(problem.m))
        in_rack = members(lambda each: each[0] == rack)
        in_host = members(lambda each: each == (rack, host))
        return (
            key(in_rack, everything, rack),
            key(in_host, in_rack, host),
            key([index], in_host, nodes[index].id),
        )

    return sorted(range(problem.m), key=whole_key)


def plainly(problem, room, topology, tasks):
    order, prior = [], None
    for task in tasks:
        if prior is None or problem.component[task] == problem.component[prior]:
            order = node_order(problem, room, topology, task)
        prior = task
        fits = room.fits(task)
        node = next((index for index in order if fits[index]), -1)
        if node >= 0:
            room.place(task, node)
        yield node


@given(requests(Size(nodes=5, topologies=2, components=3, parallelism=5)))
def test_it_equals_the_rule_written_out(request):
    problem = Problem.of(request)
    ours, theirs = start(problem, rebalance=False), start(problem, rebalance=False)
    racks = Racks.of(problem)
    for index, topology in enumerate(sorted(request.topologies, key=lambda each: each.id)):
        tasks = connection_order(topology, waiting_by_component(problem, ours, index))
        expected = list(plainly(problem, theirs, index, tasks))
        rule = Proximity(problem, ours, index, racks)
        for task, node in zip(tasks, expected, strict=True):
            assert rule.choose(task) == node
            if node >= 0:
                ours.place(task, node)

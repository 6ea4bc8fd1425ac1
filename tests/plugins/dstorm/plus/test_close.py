"""Streams that stay in their worker: loads counted tuple by tuple, and placements that only get better."""

from __future__ import annotations

import random
from collections import defaultdict

import attrs
import numpy as np
import pytest

from headworks.model import Flow, Kind, Limits, Metrics, Stream
from headworks.plugins.host import PluginHost
from headworks.problem import Problem
from headworks.problem.plan.close import CloseStreams
from headworks_dstorm.plus.close import Relief
from small_requests import component, node, request, topology

MBIT = 125_000.0
NODES = 3
GROUPINGS = ("fields", "all", "global", "local-or-shuffle")


def word_count(seed):
    """Two topologies of three components with tasks at random, on three nodes with narrow networks."""
    dice = random.Random(f"close {seed}")
    made = []
    for name in "tu":
        parts = (
            component("lines", dice.randint(1, 4), 3.0, kind=Kind.SPOUT, rate=100.0),
            component("split", dice.randint(1, 6), 4.0, selectivity=3.0),
            component("tally", dice.randint(1, 6), 5.0),
        )
        streams = (
            Stream(source="lines", target="split", grouping="local-or-shuffle"),
            Stream(
                source="split", target="tally", grouping=dice.choice(["fields", "all", "global", "local-or-shuffle"])
            ),
        )
        made.append(topology(name, *parts, streams=streams))
    nodes = [attrs.evolve(node(f"n{index}", 80.0), bandwidth=MBIT) for index in range(NODES)]
    return request(nodes, made), dice


def counted(asked, where):
    """CPU of each node, and bytes that leave it and come to it: one portion of each task's work after the other."""
    cpu, sent, come = ([0.0] * NODES for _ in range(3))
    for each in asked.topologies:
        work = defaultdict(float)  # of each task, tuples/s
        parts = {part.id: part for part in each.components}
        for index in range(parts["lines"].parallelism):
            work["lines", index] = 100.0 / parts["lines"].parallelism
        for stream in each.streams:
            source, target = parts[stream.source], parts[stream.target]
            targets = range(target.parallelism)
            for index in range(source.parallelism):
                out = work[source.id, index] * (source.selectivity if source.id != "lines" else 1.0)
                here = where[each.id, source.id, index]
                near = [to for to in targets if where[each.id, target.id, to] == here]
                chosen = {"global": [0], "local-or-shuffle": near or list(targets)}.get(stream.grouping, list(targets))
                part = out if stream.grouping == "all" else out / len(chosen)
                for to in chosen:
                    there = where[each.id, target.id, to]
                    work[target.id, to] += part
                    if there != here:
                        sent[here] += 100 * part
                        come[there] += 100 * part
        for part in each.components:
            total = sum(work[part.id, index] for index in range(part.parallelism))
            for index in range(part.parallelism):
                share = work[part.id, index] / total
                cpu[where[each.id, part.id, index]] += share * part.demand.cpu * part.parallelism
    return np.array([cpu, sent, come])


@pytest.mark.parametrize("seed", range(60))
def test_loads_are_those_of_every_tuple_by_itself(seed):
    asked, dice = word_count(seed)
    problem = Problem.of(asked)
    node_of = np.array([dice.randrange(NODES) for _ in range(problem.n)])
    where = {
        (task.topology, task.component, task.index): int(at) for task, at in zip(problem.tasks, node_of, strict=True)
    }
    if any(stream.grouping == "global" for each in asked.topologies for stream in each.streams):
        first = {each: where[each, "tally", 0] for each in "tu"}
        where |= {key: first[key[0]] for key in where if key[1] == "tally"}
        node_of = np.array([where[task.topology, task.component, task.index] for task in problem.tasks])
    close = CloseStreams.of(problem)
    found = close.loads(node_of).sum(axis=0) / [[1.0], [problem.traffic.scale], [problem.traffic.scale]]
    assert found == pytest.approx(counted(asked, where), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_changes_lighten_the_fullest_node_or_get_more_done_and_keep_the_capacity(seed):
    def fullest(node_of):
        return close.use(close.loads(node_of).sum(axis=0)).max()

    problem = Problem.of(word_count(seed)[0])
    close = CloseStreams.of(problem)
    relief = Relief(problem, close)
    begin = relief.spread(range(NODES))
    assert (begin >= 0).all()
    lighter, busier = relief.lighter(begin, lambda: False), relief.busier(begin, lambda: False)
    assert fullest(lighter) <= fullest(begin)
    assert close.judge(busier)[0] <= close.judge(begin)[0]
    for found in (lighter, busier):
        assert (problem.used(found) <= problem.capacity).all()


def test_more_gets_done_where_no_placement_bears_the_load():
    """Nodes have hardly any more CPU than the word count declares, and narrow networks."""
    problem = Problem.of(attrs.evolve(wide_word_count(40.5), limits=Limits()))
    close = CloseStreams.of(problem)
    relief = Relief(problem, close)
    begin = relief.lighter(relief.spread(range(NODES)), lambda: False)
    assert 0 < close.judge(relief.busier(begin, lambda: False))[0] < close.judge(begin)[0]


def test_no_climb_is_tried_where_all_work_gets_done(monkeypatch):
    monkeypatch.setattr(Relief, "_climbed", None)
    asked, _ = word_count(0)
    roomy = [attrs.evolve(each, bandwidth=1000 * MBIT) for each in asked.cluster.nodes]
    cluster = attrs.evolve(asked.cluster, nodes=tuple(roomy))
    plan = PluginHost.load(["dstorm-plus"]).schedule("dstorm-plus", attrs.evolve(asked, cluster=cluster))
    assert plan.scores.unplaced == 0


def test_measured_flows_are_what_they_are():
    asked, _ = word_count(0)
    seen = Metrics(flows=(Flow(source="t/lines/0", target="t/split/0", tuples=1.0, bytes=100.0),))
    assert CloseStreams.of(Problem.of(attrs.evolve(asked, metrics=seen))) is None
    plain = tuple(
        attrs.evolve(each, streams=tuple(attrs.evolve(stream, grouping="fields") for stream in each.streams))
        for each in asked.topologies
    )
    assert CloseStreams.of(Problem.of(attrs.evolve(asked, topologies=plain))) is None


def wide_word_count(cpu=60.0):
    """A word count that needs more than three nodes' networks bear, and 116 points of their CPU."""
    parts = (
        component("lines", 4, 3.0, kind=Kind.SPOUT, rate=1000.0),
        component("split", 8, 6.0, selectivity=9.0),
        component("count", 8, 7.0),
    )
    streams = (
        Stream(source="lines", target="split", grouping="local-or-shuffle"),
        Stream(source="split", target="count", grouping="fields"),
    )
    nodes = [attrs.evolve(node(name, cpu), bandwidth=0.5 * MBIT) for name in "abc"]
    asked = request(nodes, [topology("t", *parts, streams=streams)])
    return attrs.evolve(asked, limits=Limits(deadline=30.0, fill=0.8))


@pytest.mark.parametrize("cpu", [60.0, 45.0])
def test_no_spouts_are_apart_from_the_bolts_that_they_shuffle_to(cpu):
    """All spouts on one node bear as much by sums over pairs, and leave the bolts of other nodes without a tuple.

    On the smaller nodes there is no headroom, and plans with more or less of it are compared.
    """
    asked = wide_word_count(cpu)
    host, judge = PluginHost.load(["dstorm-plus", "even"]), CloseStreams.of(Problem.of(asked)).judge
    undone = {
        name: judge(Problem.of(asked).node_of(host.schedule(name, asked).assignment))[0] for name in host.schedulers
    }
    assert undone["dstorm-plus"] <= undone["even"] + 0.01


PLACED = (
    ("1/2/1", "3/2/3", "3/2/3", 582),
    ("2/0/2", "2/4/2", "3/2/3", 475),
    ("4/0/0", "2/3/3", "2/3/3", 242),
)
"""Lines, splits and counts on three nodes, and the lines a second that a Storm cluster of such nodes completed."""


def test_work_that_gets_done_is_in_the_order_of_what_storm_completed():
    """The fullest node says otherwise of the first two."""
    problem = Problem.of(attrs.evolve(wide_word_count(), limits=Limits()))
    close = CloseStreams.of(problem)
    undone, fullest = [], []
    for lines, splits, counts, _ in PLACED:
        by_part = {"lines": lines, "split": splits, "count": counts}
        node_of = np.concatenate(
            [
                np.repeat(range(NODES), [int(each) for each in by_part[name].split("/")])
                for _, name in problem.components
            ]
        )
        undone.append(close.judge(node_of)[0])
        fullest.append(close.use(close.loads(node_of).sum(axis=0)).max())
    assert undone == sorted(undone)
    assert fullest[0] > fullest[1]

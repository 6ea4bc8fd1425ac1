"""Wide shuffles: in few words, right where it matters, and within the memory of a driver."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import numpy as np
import pytest

from headworks.model import Cluster, Component, Metrics, Node, Request, Resources, Stream, Topology
from headworks.plugins.host import PluginHost
from headworks.problem import Problem
from headworks_spark.events.flows import EVEN, EXACT, FLOWS, Exchange, flows, stream

PARTS = ("a", "b")


def exchange(sizes, rows=None):
    rows = sizes if rows is None else rows
    return Exchange(topology="q", source="a", target="b", bytes=sizes, rows=rows, seconds=1.0)


def told(found):
    """What flows and stream say together, pair by pair: bytes and tuples, float64 (2, maps, reduces)."""
    whole, made = stream(found), np.zeros((2, *found.bytes.shape))
    if whole is not None:
        assert (whole.topology, whole.source, whole.target) == ("q", "a", "b")
        made += (np.array([whole.bytes, whole.tuples]) / found.bytes.size)[:, None, None]
    for flow in flows(found):
        i, j = (int(end.rpartition("/")[2]) for end in (flow.source, flow.target))
        assert (flow.source, flow.target) == (f"q/a/{i}", f"q/b/{j}")
        made[:, i, j] += flow.bytes, flow.tuples
    return made


def dealt(n, rows, groups=1):
    """Rows of 100 bytes that a hash deals to n reduces for each of n maps, within one group of tasks."""
    alike = np.add.outer(np.arange(n), -np.arange(n)) % groups == 0
    return np.random.default_rng(1).poisson(rows, (n, n)).astype(float) * alike


def test_a_small_shuffle_is_told_pair_by_pair_as_it_was_measured():
    sizes = np.random.default_rng(1).integers(0, 9, (64, 64)).astype(float)
    assert sizes.size <= EXACT
    assert stream(exchange(sizes)) is None
    assert told(exchange(sizes, 3 * sizes)).tolist() == [sizes.tolist(), (3 * sizes).tolist()]


@pytest.mark.parametrize("rows", [5, 30, 3000])
def test_a_shuffle_that_a_hash_made_is_one_stream(rows):
    counts = dealt(200, rows)
    found = exchange(100.0 * counts, counts)
    assert list(flows(found)) == []
    assert (stream(found).bytes, stream(found).tuples) == pytest.approx((100.0 * counts.sum(), counts.sum()))


def test_a_stream_tells_the_traffic_between_nodes_of_any_placement_to_half_of_what_is_even():
    counts = dealt(200, 3000) * np.random.default_rng(2).uniform(0.9, 1.1, (200, 200))
    made = told(exchange(counts))[0]
    node_of = np.random.default_rng(3).integers(0, 4, (50, 2, 200))
    for maps, reduces in node_of:
        apart = maps[:, None] != reduces[None, :]
        assert abs(made[apart].sum() - counts[apart].sum()) <= EVEN / 2 * counts.sum()


@pytest.mark.parametrize("groups", [2, 5])
def test_groups_that_send_each_other_nothing_are_no_even_stream(groups):
    counts = dealt(200, 30, groups)
    found, made = exchange(counts), told(exchange(counts))[0]
    assert 0 < len(list(flows(found))) <= FLOWS
    assert made.sum() == pytest.approx(counts.sum())
    if np.count_nonzero(counts) <= FLOWS:
        assert (made == counts).all()


def test_hot_keys_of_a_wide_shuffle_are_flows_above_its_stream():
    sizes = dealt(400, 3000)
    sizes[:, 7] *= 50
    found = exchange(sizes)
    made = told(found)[0]
    assert {flow.target for flow in flows(found)} >= {"q/b/7"}
    assert len(list(flows(found))) <= FLOWS
    assert made[:, 7] == pytest.approx(sizes[:, 7])
    assert made.sum() == pytest.approx(sizes.sum())


def test_an_empty_shuffle_says_nothing():
    empty = exchange(np.zeros((100, 100)))
    assert (stream(empty), list(flows(empty))) == (None, [])


def test_a_plan_for_a_wide_shuffle_is_made_from_one_block():
    """500 x 500 partitions: 250,000 flows took 12 s to plan; one block takes what its thousand tasks take."""
    n = 500
    parts = tuple(Component(id=each, parallelism=n, demand=Resources(cpu=1.0)) for each in PARTS)
    ends = Stream(source="a", target="b")
    nodes = tuple(Node(id=f"n{each:02}", capacity=Resources(cpu=100.0)) for each in range(40))
    found = exchange(dealt(n, 30))
    asked = Request(
        cluster=Cluster(nodes=nodes),
        topologies=(Topology(id="q", components=parts, streams=(ends,)),),
        metrics=Metrics(flows=tuple(flows(found)), streams=(stream(found),)),
    )
    problem = Problem.of(asked)
    assert (len(problem.traffic.blocks), len(problem.traffic.sparse.rate)) == (1, 0)
    plan = PluginHost.load().schedule("dstorm", asked, {})
    assert (plan.status, plan.scores.nodes_used) == ("ok", 10)


WIDE = """
    import resource, sys
    import attrs, numpy as np
    from headworks_spark.events.event import JobEnd, JobStart, StageShape, TaskEnd
    from headworks_spark.events.flows import exchanges, flows, stream
    from headworks_spark.events.history import History, Shuffle

    def megabytes():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    n, batches = 1000, 60
    history, before = History(), megabytes()
    rng = np.random.default_rng(1)
    for batch in range(batches):
        map, reduce = 2 * batch, 2 * batch + 1
        shapes = tuple(StageShape(stage=s, tasks=n, parents=(map,) * (s == reduce)) for s in (map, reduce))
        properties = {"scope": "q", "query": "q", "batch": batch}
        history.add(JobStart(job=batch, time=10.0 * batch, stages=shapes, **properties))
        for stage in (map, reduce):
            for i in range(n):
                amounts = {name: 10**6 + i + batch for name in ("local", "remote", "read", "written", "taken")}
                history.add(TaskEnd(
                    stage=stage, attempt=0, task=stage * n + i, partition=i, executor="7", host="h", locality="ANY",
                    started=10.0 * batch + i / n, ended=10.0 * batch + 5, failed=False, run=1.0 + i, **amounts,
                ))
        sizes = rng.integers(9000, 11000, (n, n)).astype(np.float32)
        history.add_shuffle(Shuffle(source=map, target=reduce, sizes=sizes))
        history.add(JobEnd(job=batch, time=10.0 * batch + 9, succeeded=True))
    (found,) = exchanges("q", {"a": 0, "b": 1}, tuple(history.jobs), 10.0)
    assert not list(flows(found)) and stream(found).bytes > 0
    print(len(history.jobs), sum(bool(job.shuffles) for job in history.jobs), megabytes() - before)
"""


def test_wide_batches_stay_within_the_memory_of_a_driver():
    """1,000 x 1,000 partitions, as the system counts the memory of a process of its own: 2.2 GB before."""
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(WIDE)], check=True, capture_output=True, text=True)
    jobs, shuffles, megabytes = (float(each) for each in done.stdout.split())
    assert (jobs, shuffles) == (50, 4)
    assert megabytes < 200

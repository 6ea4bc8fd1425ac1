"""The word count with a known best placement, on a real cluster of three nodes."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from headworks.model import Request
from headworks.problem import Problem
from headworks_spark.demo.synthetic import GROUPS, TASKS, WITHIN, WordCount, map_group, reduce_group, words
from headworks_spark.events.recorder import EventRecorder
from headworks_spark.monitor import observation

HOSTS = ("127.0.0.2", "127.0.0.3", "127.0.0.4")
NODES = frozenset(HOSTS)


def test_words_are_the_same_every_time():
    assert list(words(500, 1, 2)) == list(words(500, 1, 2))
    assert list(words(500, 1, 2)) != list(words(500, 2, 2))


@pytest.mark.parametrize("mapper", range(TASKS))
def test_words_stay_in_the_group_as_often_as_stated(mapper):
    count = 20_000
    found = Counter(reduce_group(reducer) == map_group(mapper) for reducer, _ in words(count, 1, mapper))
    expected = WITHIN + (1 - WITHIN) / GROUPS
    assert abs(found[True] / count - expected) < 5 * math.sqrt(expected * (1 - expected) / count)


def test_the_two_placements_use_every_node_for_four_tasks():
    job = WordCount()
    for placement in (job.round_robin(HOSTS), job.co_located(HOSTS)):
        assert Counter(slot.node for slot in placement.values()) == dict.fromkeys(HOSTS, 2 * TASKS // GROUPS)


@pytest.fixture(scope="module")
def recorder(spark):
    with EventRecorder(spark) as recorder:
        yield recorder


@pytest.mark.spark
@pytest.mark.slow
def test_bytes_on_the_wire_follow_the_placement(spark, recorder):
    job = WordCount()
    target = job.target(spark, recorder)
    spread, together = (job.run(target, placement(HOSTS)) for placement in (job.round_robin, job.co_located))
    assert (spread.hits, together.hits) == (12, 12)
    assert spread.share == pytest.approx(0.667, abs=0.015)
    assert together.share == pytest.approx(0.104, abs=0.015)
    assert spread.remote + spread.local == pytest.approx(together.remote + together.local, rel=0.01)


@pytest.mark.spark
def test_the_observed_traffic_shows_which_placement_is_better(spark, recorder):
    job = WordCount()
    target = job.target(spark, recorder)
    measured = job.run(target, job.round_robin(HOSTS))
    seen = observation(target, recorder.jobs(job.name)[-1:])
    problem = Problem.of(Request.of(seen))

    shares = {
        name: problem.plan(problem.node_of(placement)).scores.share
        for name, placement in (("spread", seen.assignment), ("together", job.co_located(HOSTS)))
    }
    assert seen.assignment == job.round_robin(HOSTS)
    assert {node.id for node in seen.cluster.nodes} == NODES
    assert len(seen.metrics.flows) == TASKS * TASKS
    assert shares["spread"] == pytest.approx(measured.share, abs=0.01)
    assert shares["together"] == pytest.approx(0.104, abs=0.015)


@pytest.mark.spark
def test_flows_follow_the_words_that_were_sent(spark, recorder):
    job = WordCount(name="few-words", total=60_000, seed=3)
    target = job.target(spark, recorder)
    job.run(target, job.co_located(HOSTS))
    flows = observation(target, recorder.jobs(job.name)[-1:]).metrics.flows
    sent = np.array(
        [[Counter(to for to, _ in words(job.total // TASKS, 3, i))[j] for j in range(TASKS)] for i in range(TASKS)]
    )
    size = np.zeros((TASKS, TASKS))
    for flow in flows:
        size[int(flow.source[-1]), int(flow.target[-1])] = flow.bytes
    # bytes are rounded by the tracker (10 %) and compressed block by block: small blocks cost more a word
    per_word = size / sent
    own = np.array([[map_group(i) == reduce_group(j) for j in range(TASKS)] for i in range(TASKS)])
    for kind in (own, ~own):
        assert per_word[kind].max() < 1.25 * per_word[kind].min()

"""What a running streaming query shows, while its tasks are moved and its executors die."""

from __future__ import annotations

import os
import signal
import time
from collections import defaultdict

import attrs
import pytest

from adapters.spark.spark_jobs import executor_pid
from headworks.errors import EngineError
from headworks.model import FrozenMap, Request, Slot
from headworks.problem import Problem
from headworks_spark.demo.dataset import FEEDS
from headworks_spark.demo.flights import BATCHES_A_YEAR, FlightsQuery
from headworks_spark.driver.session import executors
from headworks_spark.events.intake import LEAST
from headworks_spark.events.recorder import EventRecorder
from headworks_spark.monitor import next_batches, observation, observe, totals
from headworks_spark.nodes import nodes
from patience import PATIENCE
from spark_kills import kill_worker

pytestmark = [pytest.mark.spark, pytest.mark.slow]

HOSTS = ("127.0.0.2", "127.0.0.3", "127.0.0.4")
ROWS = 336_776


@pytest.fixture(scope="module")
def flights(tmp_path_factory):
    return FlightsQuery(folder=tmp_path_factory.mktemp("flights"))


@pytest.fixture(scope="module")
def target(spark, flights):
    with EventRecorder(spark) as recorder:
        target = flights.target(spark, recorder)
        yield target
        target.placement.clear(flights.name)


@pytest.fixture(scope="module")
def query(target, flights):
    """Whatever the tests do to the cluster: the query goes on, and its answer over all its rows is the batch answer."""
    query = flights.start(target.spark)
    target.recorder.wait(target.scope, 1, since=0, timeout=PATIENCE)
    yield query
    target.recorder.wait(target.scope, 1, since=time.time(), timeout=PATIENCE)
    assert query.isActive, query.exception()
    assert flights.check(query, target.spark) == ()
    assert flights.streamed(target.spark)[0] > 0
    assert (target.recorder.dropped, target.recorder.failures) == (0, [])
    query.stop()


def test_rows_cross_one_exchange_right_after_the_feeds(query):
    plan = query._jsq.streamingQuery().lastExecution().executedPlan().toString()
    lines = [line for line in plan.splitlines() if line.strip()]
    exchange = [index for index, line in enumerate(lines) if "Exchange" in line]
    assert len(exchange) == 1
    assert "MapInArrow" in lines[exchange[0] + 1]
    assert "Aggregate" not in "".join(lines[exchange[0] :])


def round_robin(target, hosts=HOSTS):
    return FrozenMap(
        {task.id: Slot(hosts[index % len(hosts)], 0) for index, task in enumerate(target.topology.tasks())}
    )


def test_an_observation_shows_where_tasks_ran_and_what_they_sent(target, query):
    placement = round_robin(target)
    target.ask(placement)
    asked = time.time()
    next_batches(target, LEAST + 1, timeout=PATIENCE)  # before, no throughput is told
    began = time.time()
    seen = observe(target, 1.0)
    passed = time.time() - began
    jobs = target.recorder.jobs(target.scope, since=asked)
    tasks = {task.id for task in target.topology.tasks()}

    assert seen.assignment == placement
    assert [node.id for node in seen.cluster.nodes] == list(HOSTS)
    assert [node.capacity.cpu for node in seen.cluster.nodes] == [400, 200, 100]
    assert {sample.task for sample in seen.metrics.tasks} == tasks
    for sample in seen.metrics.tasks:
        assert 0 < sample.cpu <= 200  # a thread and a Python worker, each on one core at most
        assert 1e-7 < sample.cpu / 100 / max(sample.received, sample.emitted) < 1e-2  # seconds a row, for any machine
    (topology,) = seen.metrics.topologies
    # the last batches as Spark itself reports them: what it says of each is between its slowest and its fastest
    reported = [each["processedRowsPerSecond"] for each in query.recentProgress if each["numInputRows"]]
    assert min(reported) * 0.99 <= topology.throughput <= max(reported) * 1.01
    assert topology.source == "spark: micro-batches"
    shortest = min(job.seconds for job in jobs)
    longest = max(each["durationMs"]["triggerExecution"] for each in query.recentProgress) / 1000
    assert shortest <= topology.latency / 1000 < passed + longest  # a batch may have begun before


def test_scores_of_an_observation_are_what_the_executors_read(target, query):
    target.ask(round_robin(target))
    since = time.time()
    jobs = target.recorder.wait(target.scope, 2, since=since, timeout=PATIENCE)
    problem = Problem.of(Request.of(observation(target, jobs)))
    scores = problem.plan(problem.current).scores
    measured = totals(target, jobs)
    assert scores.unit == "bytes/s"
    assert scores.share == pytest.approx(measured.share, abs=0.02)


def test_flows_sum_to_what_the_readers_measured(target, query):
    jobs = target.recorder.wait(target.scope, 1, since=time.time(), timeout=PATIENCE)[:1]
    seen = observation(target, jobs)
    into = defaultdict(float)
    for flow in seen.metrics.flows:
        into[flow.target] += flow.tuples
    for sample in seen.metrics.tasks:
        if "airports" in sample.task:
            assert into[sample.task] == pytest.approx(sample.received)


@pytest.mark.matrix
def test_any_five_batches_are_the_same_rows_wherever_they_run(target, query):
    spread, one = round_robin(target), round_robin(target, HOSTS[:1])
    found = []
    for placement in (spread, one):
        target.ask(placement)
        found.append(totals(target, next_batches(target, BATCHES_A_YEAR, timeout=PATIENCE), placement))
    assert [each.rows for each in found] == [ROWS, ROWS]
    assert [each.hits for each in found] == [each.asked for each in found] == [BATCHES_A_YEAR * 2 * FEEDS] * 2
    assert found[0].share > 0.5
    assert found[1].remote == 0
    assert found[1].local == pytest.approx(found[0].remote + found[0].local, rel=0.05)


def test_hits_are_counted_against_what_is_wanted(target, query):
    here, there = round_robin(target, HOSTS[:1]), round_robin(target, HOSTS[1:2])
    target.ask(here)
    jobs = target.recorder.wait(target.scope, 1, since=time.time(), timeout=PATIENCE)[:1]
    assert totals(target, jobs, there).hits == 0
    assert totals(target, jobs, here).hits == totals(target, jobs, here).asked == 2 * FEEDS
    assert totals(target, jobs).asked == 0


def test_nothing_listens_without_a_recorder(target):
    with pytest.raises(EngineError, match="nothing listens to 'flights'"):
        observe(attrs.evolve(target, recorder=None), 0.0)


def test_a_batch_that_never_comes_is_an_error_with_numbers(target):
    with pytest.raises(EngineError, match="0 of 3 batches in 0"):
        next_batches(attrs.evolve(target, scope="nobody"), 3, timeout=0.1)


@pytest.mark.matrix
def test_an_executor_that_is_killed_is_replaced_and_nothing_is_lost(target, query):
    target.ask(round_robin(target))
    gone = next(executor for executor, host in executors(target.spark).items() if host == HOSTS[1])
    os.kill(executor_pid(target.spark, HOSTS[1]), signal.SIGKILL)
    until(lambda: gone not in executors(target.spark))
    seen = observe(target, 0.0)
    assert {slot.node for slot in seen.assignment.values()} <= set(HOSTS)
    assert set(seen.assignment) == {task.id for task in target.topology.tasks()}
    until(lambda: HOSTS[1] in executors(target.spark).values())
    until(lambda: observe(target, 0.0).assignment == round_robin(target))


@pytest.mark.matrix  # test_placement.py has a query that survives its Worker, test_scaling.py nodes that go and come
def test_a_worker_that_is_killed_is_not_in_the_next_observation(target, query, cluster):
    target.ask(round_robin(target))
    kill_worker(cluster, HOSTS[2])
    try:
        until(lambda: HOSTS[2] not in executors(target.spark).values())
        seen = observe(target, 2.0)
        assert [node.id for node in seen.cluster.nodes] == list(HOSTS[:2])
        assert {slot.node for slot in seen.assignment.values()} == set(HOSTS[:2])
        assert Problem.of(Request.of(seen)).n == 2 * FEEDS
        # executors report every half second, later on a busy machine; the dead one's report is of before
        until(lambda: {sample.node for sample in observe(target, 2.0).metrics.nodes} == set(HOSTS[:2]))
    finally:
        cluster.start_worker(HOSTS[2])
    until(lambda: HOSTS[2] in {node.id for node in nodes(target.spark)})


def until(condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.2)

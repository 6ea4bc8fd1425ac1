"""Batches of the simulator worked out by hand, and percentiles of what waits."""

from __future__ import annotations

import attrs
import pytest

from headworks.model import Kind, Metrics, Plan, Stream, TopologySample
from headworks_sim.experiments.experiment import run
from headworks_sim.fluid.timing import Timing
from headworks_sim.fluid.trace import Event, Trace
from small_requests import component, node, request, topology

SLOW = Timing(planning=0.5, task=0.1, goodput=0.8, burst=1.0)


def simulated(places, *, sequential=True, interval=1.0, timing=SLOW, load=1.0):
    """A spout of 0.2 and a bolt of 0.3 seconds of a core a second, 2,000 bytes/s between them."""
    parts = component("s", 1, 20.0, kind=Kind.SPOUT, rate=100.0), component("t", 1, 30.0)
    streams = (Stream(source="s", target="t", tuple_bytes=20.0),)
    made = request(
        [node("a", bandwidth=1000.0), node("b", bandwidth=1000.0)],
        [topology("q", *parts, streams=streams, sequential=sequential)],
        running={"q/s/0": places[0], "q/t/0": places[1]},
        metrics=Metrics(topologies=(TopologySample(topology="q", interval=interval),)),
    )
    trace = Trace(events=(Event(time=0.0, kind="load", subject="q", value=load),))
    return run(made, lambda asked: Plan(assignment=asked.assignment), duration=40.0, timing=timing, trace=trace)


@pytest.mark.parametrize(("places", "seconds"), [
    ("aa", 0.5 + (0.2 + 0.1) + (0.3 + 0.1)),  # planning, and both stages
    ("ab", 0.5 + (0.2 + 0.1) + 2.0 / 0.8),  # the second one waits for its network
])  # fmt: skip
def test_a_batch_is_its_planning_and_one_stage_after_the_other(places, seconds):
    found = simulated(places)
    assert found.throughput == pytest.approx(100.0 / seconds)
    # What waits grows from nothing: the mean wait is half of the last one.
    waits = found.backlog / found.throughput / 2
    assert found.latency == pytest.approx(1000.0 * (seconds + waits))


def test_a_batch_in_time_takes_less_than_its_interval_and_completes_what_comes():
    found = simulated("aa", interval=2.0)
    assert (found.throughput, found.backlog) == (pytest.approx(100.0), 0.0)
    assert found.latency == pytest.approx(1000.0 * (0.5 + 2 * 0.2 + 0.1 + 2 * 0.3 + 0.1))
    assert found.latency_p50 == found.latency_p99 == pytest.approx(found.latency)


def test_half_of_the_rows_are_less_work_and_as_much_planning():
    found = simulated("aa", load=0.5)
    assert found.throughput == pytest.approx(50.0)
    assert found.latency == pytest.approx(1000.0 * (0.5 + 0.2 + 0.25))


def test_without_batches_only_the_network_bounds():
    found = simulated("ab", sequential=False)
    assert found.throughput == pytest.approx(100.0 * 0.8 * 1000.0 / 2000.0)


def test_what_waits_at_the_source_is_late_until_the_tuples_under_way_are_counted():
    late = simulated("ab", sequential=False)
    # 40 of 100 tuples/s are done: after 40 s, 2,400 wait, 60 s for the last one.
    assert late.latency_p50 == pytest.approx(30_000.0, rel=0.02)
    assert late.latency_p99 == pytest.approx(59_400.0, rel=0.02)
    bounded = simulated("ab", sequential=False, timing=attrs.evolve(SLOW, pending=8.0))
    assert bounded.throughput == late.throughput
    assert bounded.latency_p50 == bounded.latency_p99 == pytest.approx(1000.0 * 8 / 40)


def test_percentiles_of_one_task_are_those_of_exponential_stays():
    parts = (component("s", 1, 70.0, kind=Kind.SPOUT, rate=700.0),)
    made = request([node("a")], [topology("q", *parts)], running={"q/s/0": "a"})
    found = run(made, lambda asked: Plan(assignment=asked.assignment), duration=20.0)
    mean = 1.0 / (1.0 - 0.7)
    assert found.latency == pytest.approx(mean)
    wanted = [mean * 0.6931, mean * 2.9957, mean * 4.6052]
    assert [found.latency_p50, found.latency_p95, found.latency_p99] == pytest.approx(wanted, rel=0.05)


def test_no_tuple_has_no_latency():
    made = request([node("a")], [topology("q", component("s"))], running={"q/s/0": "a"})
    found = run(made, lambda asked: Plan(assignment=asked.assignment), duration=20.0)
    assert (found.latency, found.latency_p50, found.latency_p99) == (None, None, None)

"""Throughput second by second, what counts as reduced, and traffic between nodes added up."""

from __future__ import annotations

import pytest

from headworks.model import Flow, FrozenMap, Metrics, Observation, Request, Slot
from headworks_storm.demo.experiment import Measured, by_host
from headworks_storm.demo.run import topology
from headworks_storm.nimbus.snapshot import read_snapshot
from headworks_storm.workers.throughput import reduced, series, sinks
from storm_reports import report
from storm_rounds import component, round_text, supervisor, word_count
from storm_rounds import topology as topology_of_a_round


def test_sinks_are_the_bolts_that_send_to_none_of_the_topology_s_own() -> None:
    (scheduled,) = read_snapshot(round_text([supervisor("s1")], [word_count()])).scheduled
    assert sinks(scheduled) == {2, 3}
    chain = topology_of_a_round(
        "t",
        component("__acker", [1, 1], kind="system", inputs=[["a", "__ack", "fields"]]),
        component("a", [2, 2], inputs=[["s", "default", "shuffle"]]),
        component("b", [3, 4], inputs=[["a", "default", "shuffle"]]),
        component("s", [5, 5], kind="spout"),
    )
    (scheduled,) = read_snapshot(round_text([supervisor("s1")], [chain])).scheduled
    assert sinks(scheduled) == {3, 4}


def test_tuples_are_spread_over_the_window_of_their_report() -> None:
    one = report(1005.0, window=4000, tasks=[[2, 40, 0, 0, 0, 0, 0], [4, 99, 0, 0, 0, 0, 0]])
    other = report(1003.5, window=1000, tasks=[[3, 7, 0, 0, 0, 0, 0]])
    assert series([one, other], {2, 3}, 1000.0, 1006.0) == pytest.approx((0, 10, 13.5, 13.5, 10, 0))
    assert series([one], {2}, 1002.0, 1004.5) == pytest.approx((10, 10))
    assert series([], {2}, 1000.0, 1002.9) == (0.0, 0.0)
    assert series([one], {2}, 1000.0, 999.0) == ()


def test_seconds_below_four_fifths_count_as_reduced() -> None:
    assert reduced((100, 81, 79, 0, 120), 100.0) == 2
    assert reduced((), 100.0) == 0


def test_traffic_between_nodes_is_that_of_tasks_seen_on_different_ones() -> None:
    flows = (
        Flow(source="t/a/0", target="t/b/0", tuples=10, bytes=100),
        Flow(source="t/a/0", target="t/b/1", tuples=5, bytes=60),
        Flow(source="t/a/0", target="t/b/2", tuples=1000, bytes=1000),
    )
    at = {"t/a/0": Slot("n1", 1), "t/b/0": Slot("n1", 2), "t/b/1": Slot("n2", 1)}
    found = Measured.of(Observation(assignment=FrozenMap(at), metrics=Metrics(flows=flows)))
    assert (found.tuples, found.tuples_between, found.bytes, found.bytes_between) == (15, 5, 160, 60)
    assert found.share == 60 / 160
    assert (found.nodes, found.workers) == (2, 3)
    assert Measured.of(Observation()).share == 0.0


def test_supervisors_are_named_by_their_hosts() -> None:
    snapshot = read_snapshot(round_text([{**supervisor("x-1"), "host": "127.0.0.11"}], [word_count()]))
    request, placed = by_host(Request.of(snapshot.observation()), {"wc/count/0": Slot("x-1", 6700)})
    assert [node.id for node in request.cluster.nodes] == ["127.0.0.11"]
    assert placed == {"wc/count/0": Slot("127.0.0.11", 6700)}


def test_the_demo_s_topology_fits_the_heap_of_one_worker() -> None:
    heap = sum(each.task_heap * each.parallelism for each in topology().components)
    assert topology().worker_heap is not None
    assert heap + 3 * 128 <= topology().worker_heap

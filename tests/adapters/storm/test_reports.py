"""Reports of workers are read strictly, and say in the model's words what tasks did and where."""

from __future__ import annotations

import json
import math

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headworks.errors import DocumentError
from headworks.model import Metrics, Observation, Request, Slot, TopologySample
from headworks.model.parts import known_metrics
from headworks.plugins.host import PluginHost
from headworks.problem import Problem
from headworks_storm.nimbus.snapshot import Snapshot, read_snapshot
from headworks_storm.workers.measures import metrics_of, seen
from headworks_storm.workers.reports import read_report
from storm_reports import report, report_data, report_line
from storm_rounds import component, round_text, supervisor, topology, word_count

LINES, FIRST, SECOND = "wc/lines/0", "wc/count/0", "wc/count/1"
SECOND_WORKER = {
    "supervisor": "s2",
    "port": 6701,
    "tasks": [[3, 50, 0, 0, 0, 0, 0]],
    "flows": [],
    "executors": [[3, 0, 3]],
}


def snapshot(*topologies: dict[str, object]) -> Snapshot:
    return read_snapshot(round_text([supervisor("s1"), supervisor("s2")], topologies or [word_count()]))


def test_figures_of_a_window_become_rates() -> None:
    metrics = metrics_of([report(), report(**SECOND_WORKER)], snapshot(), 5.0)
    samples = {each.task: each for each in metrics.tasks}
    assert samples.keys() == {LINES, FIRST, SECOND}
    assert (samples[FIRST].received, samples[FIRST].cpu, samples[FIRST].queue) == (10.0, 10.0, 7.0)
    assert (samples[LINES].emitted, samples[LINES].cpu, samples[LINES].queue) == (20.0, 20.0, None)
    assert samples[SECOND].cpu == 0.0
    assert {(each.source, each.target): (each.tuples, each.bytes) for each in metrics.flows} == {
        (LINES, FIRST): (10.0, 200.0),
        (LINES, SECOND): (10.0, 200.0),
    }
    assert [(each.node, each.cpu, each.memory) for each in metrics.nodes] == [("s1", 50.0, 64.0), ("s2", 50.0, 64.0)]
    (whole,) = metrics.topologies
    assert (whole.offered, whole.throughput, whole.latency, whole.source) == (20.0, 18.0, 12.0, "acked")


def test_the_workers_of_a_node_are_added_up() -> None:
    metrics = metrics_of([report(), report(**{**SECOND_WORKER, "supervisor": "s1"})], snapshot(), 5.0)
    assert [(each.node, each.cpu, each.memory) for each in metrics.nodes] == [("s1", 100.0, 128.0)]


def test_what_an_executor_sends_to_itself_is_no_flow() -> None:
    metrics = metrics_of([report(flows=[[4, 4, 50, 1000], [4, 2, 50, 1000]])], snapshot(), 5.0)
    assert [(each.source, each.target) for each in metrics.flows] == [(LINES, FIRST)]


def test_without_acks_what_sinks_execute_is_the_throughput() -> None:
    quiet = {"tasks": [[2, 50, 0, 0, 0, 0, 0], [4, 0, 100, 0, 0, 0, 0]]}
    (whole,) = metrics_of([report(**quiet), report(**SECOND_WORKER)], snapshot(), 5.0).topologies
    assert (whole.throughput, whole.latency, whole.source) == (20.0, None, "received by sinks")


def test_figures_of_several_reports_of_a_process_are_means_over_its_windows() -> None:
    later = {
        "number": 2,
        "window": 15_000,
        "cpu": 3_500_000_000,
        "heap": 80 * 2**20,
        "tasks": [[2, 250, 0, 0, 0, 0, 0], [4, 0, 500, 90, 0, 3, 180]],
        "flows": [[4, 2, 250, 8000]],
        "executors": [[2, 500_000_000, 10], [4, 3_000_000_000, 5]],
    }
    metrics = metrics_of([report(1000), report(1015, **later)], snapshot(), 20.0)
    samples = {each.task: each for each in metrics.tasks}
    assert (samples[FIRST].received, samples[FIRST].cpu, samples[FIRST].queue) == (15.0, 5.0, 8.5)
    assert (samples[LINES].emitted, samples[LINES].cpu, samples[LINES].queue) == (30.0, 20.0, 5.0)
    assert [(each.target, each.tuples, each.bytes) for each in metrics.flows] == [
        (FIRST, 15.0, 450.0),
        (SECOND, 2.5, 50.0),
    ]
    assert [(each.cpu, each.memory) for each in metrics.nodes] == [(30.0, 80.0)]
    (whole,) = metrics.topologies
    assert (whole.offered, whole.throughput, whole.latency) == (30.0, 9.0, 30.0)


def test_a_report_without_cpu_is_no_time_without_cpu() -> None:
    """The thread of an executor is not found at first."""
    first = report(1000, executors=[[2, None, 7], [4, None, None]])
    samples = {each.task: each for each in metrics_of([first, report(1005, number=2)], snapshot(), 10.0).tasks}
    assert (samples[FIRST].cpu, samples[FIRST].queue, samples[FIRST].source) == (10.0, 7.0, "thread")
    alone = {each.task: each for each in metrics_of([first], snapshot(), 5.0).tasks}
    assert (alone[FIRST].cpu, alone[FIRST].source) == (None, "hook")


def test_sinks_are_the_last_bolts_of_a_chain_and_no_system_components() -> None:
    chain = topology(
        "wc",
        component("__acker", [1, 1], kind="system", inputs=[["count", "__ack", "fields"]]),
        component("count", [2, 2], inputs=[["lines", "default", "fields"]]),
        component("sum", [3, 3], inputs=[["count", "default", "fields"]]),
        component("lines", [4, 4], kind="spout"),
    )
    rows = [[1, 7000, 0, 0, 0, 0, 0], [2, 50, 40, 0, 0, 0, 0], [3, 40, 0, 0, 0, 0, 0], [4, 0, 100, 0, 0, 0, 0]]
    round_ = snapshot(chain)
    flows = [[4, 2, 100, None], [2, 3, 40, None], [2, 1, 50, None], [4, 1, 100, None]]
    (whole,) = metrics_of([report(tasks=rows, flows=flows)], round_, 5.0).topologies
    # 8 of the 16 tuples/s that the sink should have of 20: count sends 4 for each 5 that it takes
    assert (whole.offered, whole.throughput) == (20.0, 10.0)
    last = topology("wc", *chain["components"][:2], chain["components"][3])
    (whole,) = metrics_of([report(tasks=[rows[0], rows[1], rows[3]], flows=flows[:1])], snapshot(last), 5.0).topologies
    assert whole.throughput == 10.0


def test_an_executor_of_several_tasks_is_their_sum() -> None:
    wide = topology("wc", component("count", [2, 3], inputs=[]), component("lines", [4, 4], kind="spout"))
    both = report(tasks=[[2, 50, 5, 0, 0, 0, 0], [3, 10, 5, 0, 0, 0, 0], [4, 0, 100, 0, 0, 0, 0]])
    metrics = metrics_of([both], snapshot(wide), 5.0)
    sample = next(each for each in metrics.tasks if each.task == FIRST)
    assert (sample.received, sample.emitted, sample.cpu) == (12.0, 2.0, 10.0)
    assert [(each.source, each.target, each.tuples) for each in metrics.flows] == [(LINES, FIRST, 20.0)]


def test_the_last_worker_to_report_a_task_is_believed() -> None:
    """A zombie at the old place, and what came before a restart, add nothing."""
    moved = {**SECOND_WORKER, "tasks": [[2, 5, 0, 0, 0, 0, 0]], "executors": [[2, 0, 0]]}
    before = [report(1000), report(1005, number=2)]
    metrics = metrics_of([report(1006, **moved), *before], snapshot(), 10.0)
    assert {each.task: each.received for each in metrics.tasks} == {FIRST: 1.0, LINES: 0.0}
    assert seen([*before, report(1006, **moved)], snapshot()) == {FIRST: Slot("s2", 6701), LINES: Slot("s1", 6700)}
    assert seen([report(1004, **moved), *before], snapshot())[FIRST] == Slot("s1", 6700)
    slow_clock, fast_clock = (report(1006, **moved, started=1_700_000_000_000 + shift) for shift in (-9_000, 9_000))
    assert seen([*before, slow_clock], snapshot())[FIRST] == Slot("s2", 6701)
    assert seen([attrs.evolve(fast_clock, received=1004), *before], snapshot())[FIRST] == Slot("s1", 6700)


def test_counts_of_a_restarted_worker_do_not_mix() -> None:
    again = {"started": 1_700_000_100_000, "tasks": [[2, 5, 0, 0, 0, 0, 0], [4, 0, 10, 0, 0, 0, 0]], "flows": []}
    metrics = metrics_of([report(1000), report(1020, **again)], snapshot(), 20.0)
    assert {each.task: (each.received, each.emitted) for each in metrics.tasks} == {
        FIRST: (1.0, 0.0),
        LINES: (0.0, 2.0),
    }
    assert [(each.node, each.cpu) for each in metrics.nodes] == [("s1", 50.0)]
    assert not metrics.flows


def test_bytes_that_are_not_known_are_those_of_like_flows() -> None:
    flows = [[4, 2, 50, None], [4, 3, 50, 1000]]
    assert {each.bytes for each in metrics_of([report(flows=flows)], snapshot(), 5.0).flows} == {200.0}
    unlike = [[4, 2, 50, None], [2, 4, 50, 1000]]
    assert {each.target: each.bytes for each in metrics_of([report(flows=unlike)], snapshot(), 5.0).flows} == {
        FIRST: None,
        LINES: 200.0,
    }
    unknown = [[4, 2, 50, None]]
    assert [each.bytes for each in metrics_of([report(flows=unknown)], snapshot(), 5.0).flows] == [None]


def test_schedulers_plan_on_the_bytes() -> None:
    metrics = metrics_of([report(), report(**SECOND_WORKER)], snapshot(), 5.0)
    problem = Problem.of(Request.of(attrs.evolve(snapshot().observation(), metrics=metrics)))
    assert problem.traffic.unit == "bytes/s"
    assert problem.traffic.total / problem.traffic.scale == 400.0


def test_strangers_are_left_out() -> None:
    others = [report(topology="gone"), report(supervisor="s9"), report(tasks=[[99, 1, 1, 0, 0, 0, 0]], port=6701)]
    assert seen(others, snapshot()) == {}
    metrics = metrics_of([report(topology="gone"), report(tasks=[[99, 1, 1, 0, 0, 0, 0]])], snapshot(), 5.0)
    assert metrics.tasks == metrics.flows == ()


def test_a_worker_that_does_not_know_its_supervisor_is_found_by_its_host() -> None:
    plain = report(supervisor=None, host="s1")
    assert seen([plain], snapshot())[FIRST] == Slot("s1", 6700)
    assert seen([report(supervisor=None, host="s1", port=9999)], snapshot()) == {}


counts = st.integers(min_value=0, max_value=2**40)
reports = st.lists(
    st.builds(
        lambda received, port, started, tasks, flows: report(
            received,
            port=port,
            started=started,
            tasks=[[task, *row] for task, row in tasks.items()],
            flows=[[*pair, *row] for pair, row in flows.items()],
        ),
        st.floats(min_value=0, max_value=100),
        st.sampled_from((6700, 6701)),
        st.integers(min_value=1, max_value=3),
        st.dictionaries(st.integers(min_value=1, max_value=5), st.tuples(*[counts] * 6), max_size=4),
        st.dictionaries(
            st.tuples(*[st.integers(min_value=1, max_value=5)] * 2), st.tuples(counts, st.none() | counts), max_size=4
        ),
    ),
    max_size=6,
).map(lambda found: [attrs.evolve(each, number=number) for number, each in enumerate(found)])


@given(reports)
def test_any_reports_give_figures_that_a_request_takes(given_reports: list[object]) -> None:
    round_ = snapshot()
    metrics = metrics_of(given_reports, round_, 5.0)  # type: ignore[arg-type]
    figures = [each.received for each in metrics.tasks] + [each.emitted for each in metrics.tasks]
    figures += [each.cpu for each in metrics.nodes] + [each.tuples for each in metrics.flows]
    assert all(figure is not None and 0 <= figure < math.inf for figure in figures)
    assert len({each.task for each in metrics.tasks}) == len(metrics.tasks)
    assert known_metrics(metrics, round_.observation()) == metrics
    assert seen(given_reports, round_).keys() <= {LINES, FIRST, SECOND, "wc/__acker/0"}  # type: ignore[arg-type]
    assert metrics == metrics_of(list(reversed(given_reports)), round_, 5.0)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "wrong",
    [
        {"v": 2},
        {"window": 0},
        {"window": -5},
        {"cpu": -1},
        {"cpu": 0.5},
        {"number": True},
        {"topology": 3},
        {"host": ["a"]},
        {"tasks": [[1, 2]]},
        {"tasks": [[1, -2, 0, 0, 0, 0, 0]]},
        {"tasks": [[1, None, 0, 0, 0, 0, 0]]},
        {"flows": [[1, 2, None, 3]]},
        {"flows": [7]},
        {"executors": [[None, 1, 1]]},
        {"executors": {"a": 1}},
    ],
)
def test_what_is_no_report_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(DocumentError):
        read_report(json.dumps(report_data(**wrong)), 0.0)


@given(st.binary() | st.text())
def test_garbage_is_a_document_error(line: bytes | str) -> None:
    with pytest.raises(DocumentError):
        read_report(line, 0.0)


COUNTS = ("v", "port", "started", "number", "time", "window", "cpu", "heap", "dropped", "sample")
ROWS = {"tasks": 7, "flows": 4, "executors": 3, "sources": 4, "paused": 2, "held": 2}


@pytest.mark.parametrize("value", [10**400, 2**53 + 1, -1, 1.5, float("inf"), float("nan"), True, "1", [1], None, 1e9])
def test_a_number_without_bounds_is_a_document_error(value: object) -> None:
    for name in COUNTS:
        with pytest.raises(DocumentError):
            read_report(report_line(**{name: value}), 0.0)
    for name, width in ROWS.items():
        with pytest.raises(DocumentError):
            read_report(report_line(**{name: [[value] * width]}), 0.0)


@pytest.mark.parametrize("value", ["x" * 513, 7, ["s1"], {}])
def test_an_id_without_bounds_is_a_document_error(value: object) -> None:
    with pytest.raises(DocumentError):
        read_report(report_line(topology=value), 0.0)
    for name in ("supervisor", "host"):
        with pytest.raises(DocumentError):
            read_report(report_line(**{name: value}), 0.0)


@pytest.mark.parametrize("rows", ["", {}, None, 7, [{}], ["1234"], [[1]], [[1, 2, 3, 4], [1, 2, 3]], [[1] * 9], [[]]])
def test_rows_of_another_form_are_a_document_error(rows: object) -> None:
    for name in ROWS:
        with pytest.raises(DocumentError):
            read_report(report_line(**{name: rows}), 0.0)


@pytest.mark.parametrize(
    "routes", [[], 7, "", {"to": 4, "digest": 1}, {"to": [-1], "digest": 1}, {"to": []}, {"to": [], "digest": 1.5}]
)
def test_routes_of_another_form_are_a_document_error(routes: object) -> None:
    with pytest.raises(DocumentError):
        read_report(report_line(routes=routes), 0.0)


def test_the_largest_numbers_give_figures() -> None:
    most = 2**53
    rows = {name: [[2] + [most] * (width - 1)] for name, width in ROWS.items()}
    counts = dict.fromkeys(COUNTS[2:], most) | {"window": 1}
    metrics = metrics_of([read_report(report_line(**counts, **rows), 1000.0)], snapshot(), 5.0)
    assert all(math.isfinite(each.received) for each in metrics.tasks)


def tandem(taken: int, sent: int, got: int, *, lines: int = 5000, acked: int = 0, **more: object) -> TopologySample:
    """5 s of lines (task 2, a spout) -> parse (3) -> store (4): tuples that parse took and sent, and that store got."""
    row = topology(
        "wc",
        component("lines", [2, 2], kind="spout"),
        component("parse", [3, 3], inputs=[["lines", "default", "shuffle"]]),
        component("store", [4, 4], inputs=[["parse", "default", "fields"]]),
    )
    tasks = [[2, 0, lines, acked, 0, 0, 0], [3, taken, sent, 0, 0, 0, 0], [4, got, 0, 0, 0, 0, 0]]
    made = report(tasks=tasks, flows=[[2, 3, lines, None], [3, 4, sent, None]], executors=[], **more)
    (sample,) = metrics_of([made], snapshot(row), 5.0).topologies
    return sample


def verdict(sample: TopologySample) -> str:
    seen = Observation(topologies=(), metrics=Metrics(topologies=(sample,)))
    return PluginHost.load().analyse("dstorm", seen).state


def test_a_filter_that_passes_on_a_tenth_is_quiet() -> None:
    sample = tandem(taken=5000, sent=500, got=500)
    assert (sample.offered, sample.throughput, verdict(sample)) == (1000.0, 1000.0, "normal")


def test_a_filter_that_drops_all_is_quiet_and_one_that_stands_still_is_not() -> None:
    assert verdict(tandem(taken=5000, sent=0, got=0)) == "normal"
    stalled = tandem(taken=0, sent=0, got=0)
    assert (stalled.offered, stalled.throughput, verdict(stalled)) == (1000.0, 0.0, "unsatisfactory")


def test_a_word_splitter_at_half_speed_is_unsatisfactory_though_sinks_receive_more_than_is_offered() -> None:
    sample = tandem(taken=2500, sent=22_500, got=22_500)
    assert (sample.offered, sample.throughput, verdict(sample)) == (1000.0, 500.0, "unsatisfactory")
    assert verdict(tandem(taken=5000, sent=45_000, got=45_000)) == "normal"


def test_what_arrives_at_a_source_is_offered_though_its_spout_is_held_back() -> None:
    behind = tandem(taken=5000, sent=5000, got=5000, acked=5000, sources=[[2, 20_000, 5000, 800]])
    assert (behind.offered, behind.throughput, behind.source) == (4000.0, 1000.0, "acked; offered: arrived")
    assert verdict(behind) == "unsatisfactory"
    unacked = tandem(taken=5000, sent=5000, got=5000, sources=[[2, 20_000, 5000, 800]])
    assert (unacked.offered, unacked.throughput) == (4000.0, 1000.0)


def test_a_spout_that_makes_two_tuples_of_each_that_it_takes_is_measured_in_its_own() -> None:
    sample = tandem(taken=5000, sent=5000, got=5000, acked=5000, sources=[[2, 2500, 2500, 0]])
    assert (sample.offered, sample.throughput) == (1000.0, 1000.0)
    half = tandem(taken=5000, sent=5000, got=5000, acked=5000, sources=[[2, 5000, 2500, 0]])
    assert (half.offered, half.throughput) == (2000.0, 1000.0)


def test_a_backlog_that_shrinks_is_no_load_that_is_not_met() -> None:
    sample = tandem(taken=5000, sent=5000, got=5000, acked=5000, sources=[[2, 1000, 5000, 0]])
    assert (sample.offered, sample.throughput, verdict(sample)) == (200.0, 1000.0, "normal")


def test_a_spout_that_takes_nothing_of_what_arrives_is_offered_all_of_it() -> None:
    sample = tandem(taken=0, sent=0, got=0, lines=0, sources=[[2, 5000, 0, 1000]])
    assert (sample.offered, sample.throughput, verdict(sample)) == (1000.0, 0.0, "unsatisfactory")


@pytest.mark.parametrize(
    ("held", "offered", "state"),
    [(0, 1000.0, "normal"), (500, 1000.0, "normal"), (2500, 2000.0, "unsatisfactory"), (5000, 1e4, "unsatisfactory")],
)
def test_a_spout_that_tells_nothing_of_its_source_would_emit_at_its_pace_were_it_not_held_back(
    held: int, offered: float, state: str
) -> None:
    sample = tandem(taken=5000, sent=5000, got=5000, acked=5000, sources=[[2, None, None, held]])
    assert sample.offered == pytest.approx(offered)
    assert verdict(sample) == state
    assert ("held back" in sample.source) == (held > 500)


def test_a_report_of_an_older_jar_says_nothing_of_sources() -> None:
    data = report_data()
    assert "sources" not in data
    assert report().sources == ()
    (row,) = report(sources=[[4, 7, None, 3]]).sources
    assert (row.task, row.arrived, row.taken, row.held) == (4, 7, None, 3)

"""`headworks demo priority`: what it computes, without a process; and the whole of it, small."""

from __future__ import annotations

import itertools
import json
import signal

import attrs
import pytest

from headworks.model import FrozenMap
from headworks_lab.evidence import named
from headworks_lab.priority import claims as claims_module
from headworks_lab.priority.claims import (
    FEED,
    STARVED,
    TE,
    TT,
    feed_ratio,
    latency_ratio,
)
from headworks_lab.priority.feeds import feeds
from headworks_lab.priority.feeds.feeds import FIRST, SECOND, FeedWorkload, result_key, schedule
from headworks_lab.priority.feeds.run import FeedDemoResult, FeedPhase
from headworks_lab.priority.feeds.show import COLUMNS as FEED_COLUMNS
from headworks_lab.priority.feeds.show import html as feeds_html
from headworks_lab.priority.feeds.show import rows as feed_rows
from headworks_lab.priority.latency import (
    TOPIC_OF,
    Balance,
    Done,
    Key,
    Latencies,
    balances,
    expected,
    latencies,
    percentile,
    wrong_events,
)
from headworks_lab.priority.picture import holding_svg
from headworks_lab.priority.run import Phase, PriorityDemoResult
from headworks_lab.priority.show import COLUMNS, data, html, rows
from headworks_lab.priority.site.holding import Span, nodes_of, spans
from headworks_lab.priority.steps import FIG_6, overheads, triggers
from headworks_lab.priority.workload import ARCHIVES, EVENTS, GATEWAYS, MEMBERS, Workload
from headworks_priority.options import DpsOptions, SpsOptions
from headworks_priority.sharing import dps, sps
from headworks_priority.workloads import CONTINUOUS, TopologyRow, use_case
from shell import gone, headworks, interrupted, running

SMALL = Workload(gap=10.0, length=10, batches=4, factor=0.5, service=0.1)
LIMIT = 1700
"""Seconds after which the demo is taken to hang; on an idle machine it takes four minutes."""


@pytest.mark.parametrize(
    ("batches", "factor", "numbers"), [(4, 0.5, [1, 2]), (6, 0.67, [1, 2, 3, 4]), (3, 1.0, [0, 1]), (5, 0.0, [])]
)
def test_batches_that_make_events_follow_one_another_and_triggers_end(batches, factor, numbers):
    assert list(Workload(batches=batches, factor=factor).eventful) == numbers


def test_a_batch_makes_a_raw_event_if_four_fifths_of_its_readings_are_above_the_threshold():
    for number in range(SMALL.batches):
        lines = [line.split(",") for line in SMALL.readings("dps", number, "g1", "2026-01-01T00:00:00")]
        above = sum(float(reading) > 50 for _, _, reading, _ in lines)
        assert (above >= 0.8 * len(lines)) == (number in SMALL.eventful)
        assert [other for *_, other in lines] == [f"dps-{number}#{index}" for index in range(SMALL.length)]
        assert {source for _, source, _, _ in lines} == {"g1"}


def batches(delay):
    """All batches sent at their times; those of each topology done after a delay."""
    sent, done = {}, {}
    for key in expected(SMALL, "dps"):
        number = int(key.batch.rpartition("-")[2])
        at = 1000.0 + 10 * number
        sent[Key(TOPIC_OF[key.where], key.gateway, key.batch)] = at
        event = number in SMALL.eventful and key.where in EVENTS
        done[key] = Done(at=at + delay(key, number), count=SMALL.length, event=event)
    return sent, done


def test_a_complex_event_is_there_when_the_last_of_its_raw_events_is():
    slow = {("EventTP2", "g1", 1): 7.0, ("EventTP1", "g0", 2): 4.0}
    sent, done = batches(lambda key, number: slow.get((key.where, key.gateway, number), 2.0))
    found = latencies(SMALL, "dps", sent, done)
    assert found.complex_events == (7.0, 4.0)
    assert sorted(found.high) == [0.2] * 14 + [0.4, 0.7]
    assert found.low == (0.2,) * len(ARCHIVES) * len(GATEWAYS) * SMALL.batches
    assert percentile(found.complex_events, 50) == 5.5
    assert percentile((), 50) is None


def test_an_event_that_is_none_is_found():
    _, done = batches(lambda *_: 1.0)
    assert wrong_events(SMALL, "dps", done) == ()
    key = Key("EventTP1", "g0", "dps-0")
    assert wrong_events(SMALL, "dps", done | {key: Done(at=1.0, count=10, event=True)}) == (key,)


def test_tuples_that_are_lost_and_that_came_twice_are_told_apart():
    assert Balance.of(["a", "b", "c"], ["a", "c", "c", "d"]) == Balance(sent=3, written=4, lost=1, twice=2)
    lines = [f"{name}-{number}#{index} 0 text" for name in ("dps", "sps") for number in range(4) for index in range(10)]
    written = {(each.name, gateway): lines for each in MEMBERS for gateway in GATEWAYS}
    written["ArchivalTP2", "g1"] = lines[1:]
    found = balances(SMALL, "dps", written)
    assert found["EventTP1"] == Balance(sent=80, written=80, lost=0, twice=0)
    assert found["ArchivalTP2"] == Balance(sent=80, written=79, lost=1, twice=0)


def test_spans_last_until_a_node_is_held_by_others():
    seen = [
        (0.0, (("a", ("x",)), ("b", ("y",)))),
        (3.0, (("a", ("x", "y")), ("b", ()))),
        (5.0, (("a", ("y",)), ("b", ()))),
    ]
    found = spans(seen, 9.0)
    assert [(each.host, each.topologies, each.begin, each.end) for each in found] == [
        ("a", ("x",), 0.0, 3.0),
        ("a", ("x", "y"), 3.0, 5.0),
        ("a", ("y",), 5.0, 9.0),
        ("b", ("y",), 0.0, 3.0),
    ]
    assert nodes_of(seen[1][1]) == {"x": 1, "y": 1}


def row(second, action, verdict, *, before=False, after=False, topology=EVENTS[0]):
    at = f"2026-01-01T00:00:{second:02}.000Z"
    states = {"before": {"active": before}, "after": {"active": after}}
    return FrozenMap({"action": action, "verdict": verdict, "at": at, "topology": topology, **states})


def phase(history):
    sent, done = batches(lambda *_: 3.0)
    written = {(each.name, gateway): [] for each in MEMBERS for gateway in GATEWAYS}
    held = (Span(host="127.0.0.11", topologies=EVENTS, begin=0.0, end=9.0),)
    return Phase(
        scheduler="dps",
        begin=0.0,
        end=10.0,
        spans=held,
        latencies=latencies(SMALL, "dps", sent, done),
        balances=balances(SMALL, "dps", written),
        history=tuple(history),
    )


def test_a_change_counts_when_every_step_of_figure_6_is_in_the_history():
    whole = [row(index, "reschedule", word, topology=name) for index, word in enumerate(FIG_6) for name in EVENTS]
    kept = [row(20 + index, "reschedule", word) for index, word in enumerate(("deactivated", "kept", "activated"))]
    found = phase(
        [row(0, "trigger", "on", after=True), *whole, *kept, row(30, "trigger", "same", before=True, after=True)]
    )
    assert (found.changes, found.steps) == (1, (*FIG_6, "deactivated", "kept", "activated"))
    assert [word for _, word in triggers(found.history, EVENTS[0])] == ["on"]


def test_the_page_has_a_picture_and_the_table_what_was_lost():
    result = PriorityDemoResult(workload=SMALL, phases=(phase([]),), seconds=1.0)
    ((*cells,),) = rows(result)
    assert dict(zip(COLUMNS, cells, strict=True))["in / out"] == "320 / 0"
    assert html(result).count("<svg") == 1
    assert data(result)["phases"][0]["balances"]["EventTP1"]["lost"] == 80
    drawn = holding_svg([each.name for each in MEMBERS], phase([]).spans, 0.0, 10.0, [(5.0, "on")])
    assert all(f"{name} on 127.0.0.11 for 9 s" in drawn for name in EVENTS)
    assert drawn.index("stroke-dasharray") > drawn.rindex("<rect"), "a trigger's line is behind the bars"


def pair(sps, dps):
    """A run of use case 1 with these latencies under each scheduler."""

    def run(workload):
        assert workload.service == 0.3
        phases = [
            attrs.evolve(phase([]), scheduler=name, latencies=each) for name, each in (("sps", sps), ("dps", dps))
        ]
        return PriorityDemoResult(workload=workload, phases=tuple(phases), seconds=1.0)

    return run


def test_figures_that_the_thesis_prints_are_those_of_the_means_of_both_schedulers():
    sps = Latencies(complex_events=(10.0, 14.0), high=(0.4, 0.4), low=(0.2,))
    run = pair(sps, Latencies(complex_events=(10.0, 6.0), high=(0.3, 0.2), low=(0.2, 0.6)))
    assert latency_ratio("complex_events", 0.3, run) == pytest.approx(1.5)
    assert latency_ratio("high", 0.3, run) == pytest.approx(1.6)
    assert latency_ratio("low", 0.3, run) == pytest.approx(0.5)
    claims = named.measured_claims("sps")
    assert [each.printed for each in claims] == [row[3] for row in (*TE, *TT, *STARVED, *FEED)]
    assert [each.id for each in named.measured_claims("dps")] == [each.id for each in claims]
    assert named.measured_claims("even") == ()


def test_claims_of_use_case_1_compute_what_they_state(monkeypatch):
    sps = Latencies(complex_events=(12.0,), high=(0.4,), low=(0.2,))
    run = pair(sps, Latencies(complex_events=(8.0,), high=(0.25,), low=(0.4,)))
    monkeypatch.setattr(claims_module, "run_demo", run)
    found = {each.id: each for each in claims_module.measured_claims()}
    figures = [found[f"{name}-service-0.3"].verify() for name in ("te", "tt", "starved")]
    assert figures == pytest.approx([0.5, 0.6, 2.0])


def test_tuples_of_a_feed_come_at_the_low_rate_then_at_the_high_one_then_at_the_low_one():
    workload = FeedWorkload(rate=8.0, proportion=0.5, tuples=40)
    moments = workload.moments()["Feed1"]
    gaps = [after - before for before, after in itertools.pairwise(moments)]
    assert gaps == pytest.approx([0.25] * 10 + [0.125] * 20 + [0.25] * 9)
    due = schedule(workload)
    assert [each.at for each in due] == sorted(each.at for each in due)
    own = [each for each in due if each.topic == "Feed1"]
    assert {(each.producer, each.number) for each in own} == {(index % 4, index // 4) for index in range(40)}
    second = [each.at for each in due if each.topic == "Feed2"]
    assert len(second) == int(moments[-1] * 1.25) + 1
    keys = {result_key(each, "dps") for each in due}
    assert len(keys) == len(due)
    assert {key.where for key in keys} == {FIRST, SECOND}


@pytest.mark.parametrize(
    ("rule", "options", "triggered", "nodes"),
    [(sps, SpsOptions(), None, (3, 2)), (dps, DpsOptions(), (), (3, 2)), (dps, DpsOptions(), (FIRST,), (4, 1))],
)
def test_the_nodes_of_use_case_2_are_a_quarter_of_the_tables(rule, options, triggered, nodes):
    rows = {
        each.name: TopologyRow(
            components=CONTINUOUS, desired=each.desired, minimum=each.minimum, priority=1 + (each.name != FIRST), rate=9
        )
        for each in feeds.FEEDS
    }
    plan = rule(use_case(rows, feeds.CASE.nodes, triggered), options)
    found = {
        name: {slot.node for task, slot in plan.assignment.items() if task.startswith(f"{name}/")} for name in rows
    }
    assert tuple(map(len, found.values())) == nodes


def feed_phase(scheduler, first, history=()):
    workload = FeedWorkload(tuples=40)
    sent = {result_key(each, scheduler): each.at for each in schedule(workload)}
    done = {key: Done(at=at + (first if key.where == FIRST else 0.5), count=1, event=False) for key, at in sent.items()}
    written = {(each.name, source): [] for each in feeds.FEEDS for source in feeds.CASE.gateways(each)}
    for key in sent:
        written[key.where, key.gateway].append(f"{key.batch} 0 ")
    return FeedPhase(
        scheduler=scheduler,
        begin=0.0,
        end=9.0,
        spans=(Span(host="127.0.0.11", topologies=(FIRST,), begin=0.0, end=9.0),),
        latencies=feeds.latencies(sent, done),
        balances=feeds.balances(sent, scheduler, written),
        history=tuple(history),
    )


def test_a_feed_is_shown_with_its_latencies_the_overhead_of_changes_and_what_was_lost():
    steps = [row(5 + index, "reschedule", word, topology=FIRST) for index, word in enumerate(FIG_6)]
    changed = [row(3, "trigger", "on", after=True, topology=FIRST), *steps]
    assert overheads(changed, FIRST) == (6.0,)
    result = FeedDemoResult(
        workload=FeedWorkload(), phases=(feed_phase("sps", 3.0), feed_phase("dps", 2.0, changed)), seconds=1.0
    )
    sps, dps = (dict(zip(FEED_COLUMNS, cells, strict=True)) for cells in feed_rows(result))
    assert (sps["TT TP1 mean"], sps["O mean"], sps["changes"]) == ("3.00", "0", "0")
    assert (dps["TT TP1 mean"], dps["O mean"], dps["changes"]) == ("2.00", "6.0", "1")
    assert len({*sps["in / out"].split(" / ")}) == 1
    assert feeds_html(result).count("<svg") == 2
    assert feed_ratio(40.0, lambda workload: attrs.evolve(result, workload=workload)) == pytest.approx(0.5)
    lost = feeds.balances(
        {result_key(each, "x"): 0.0 for each in schedule(FeedWorkload(tuples=40))},
        "x",
        {(each.name, source): [] for each in feeds.FEEDS for source in feeds.CASE.gateways(each)},
    )
    assert lost[FIRST].lost == 40


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--use-case", "2", "--gap", "5"), "--gap is of the other use case: --use-case 1"),
        (("--rate", "5"), "--rate is of the other use case: --use-case 2"),
        (("--use-case", "2", "-s", "isolation"), "isolation does not place topologies that want more nodes"),
    ],
)
def test_what_is_of_the_other_use_case_is_said_before_anything_starts(words, said):
    done = headworks("demo", "priority", *words)
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr


def told(words, folder):
    """What a run of the demo says, which ends every process that it started."""
    with running("demo", "priority", *words, folder=folder) as (run, mark):
        out, messages = run.communicate(timeout=LIMIT)
        assert run.returncode == 0, messages
        assert gone(mark) == []
    return json.loads(out)


@pytest.mark.storm
@pytest.mark.slow
@pytest.mark.network
@pytest.mark.matrix
@pytest.mark.timeout(LIMIT + 60)
def test_triggers_move_nodes_and_every_tuple_comes_out_once(java, tmp_path):
    """Each figure from the files that topologies wrote, the manager's history, and the rounds of Nimbus."""
    words = ("-s", "dps", "--batches", "4", "--gap", "25", "--factor", "0.5", "--json")
    found = told(words, tmp_path)
    assert found == json.loads((tmp_path / "headworks-demo" / "priority.json").read_text())
    (dps,) = found["phases"]
    assert {each["lost"] + each["twice"] for each in dps["balances"].values()} == {0}
    assert {each["sent"] for each in dps["balances"].values()} == {2 * 4 * 30}
    assert len(dps["complex_events"]) == 2
    assert dps["changes"] >= 2
    triggers = [each for each in dps["history"] if each["action"] == "trigger"]
    assert {(each["topology"], each["after"]["active"]) for each in triggers} >= {
        (name, state) for name in EVENTS for state in (True, False)
    }
    assert most(dps["held"]) == dict.fromkeys(EVENTS, 2)
    page = (tmp_path / "headworks-demo" / "priority.html").read_text()
    assert page.count("<svg") == 1
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")


def most(held):
    """Nodes that each event topology held at the moment at which it held most."""
    found = {}
    for name in EVENTS:
        own = [each for each in held if name in each["topologies"]]
        found[name] = max(sum(each["from"] <= at["from"] < each["to"] for each in own) for at in own)
    return found


@pytest.mark.storm
@pytest.mark.slow
@pytest.mark.network
@pytest.mark.matrix
@pytest.mark.timeout(LIMIT + 60)
def test_a_feed_whose_rate_rises_gets_nodes_and_every_tuple_comes_out_once(java, tmp_path):
    words = ("--use-case", "2", "-s", "dps", "--tuples", "400", "--json")
    (dps,) = told(words, tmp_path)["phases"]
    assert {each["lost"] + each["twice"] for each in dps["balances"].values()} == {0}
    assert dps["balances"][FIRST]["sent"] == len(dps["latencies"][FIRST]) == 400
    assert dps["changes"] >= 2
    assert len({each["node"] for each in dps["held"] if FIRST in each["topologies"]}) == 4


@pytest.mark.storm
@pytest.mark.slow
@pytest.mark.network
@pytest.mark.matrix
def test_an_interrupted_demo_ends_everything_it_started(java, tmp_path):
    interrupted("demo", "priority", folder=tmp_path, number=signal.SIGINT, at="all of it is up")
    assert not (tmp_path / "headworks-demo").exists()

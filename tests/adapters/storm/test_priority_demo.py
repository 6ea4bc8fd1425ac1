"""`headgate demo priority`: what it computes, without a process; and the whole of it, small."""

from __future__ import annotations

import json
import signal

import attrs
import pytest

from headgate.model import FrozenMap
from headgate.plugins.collect import measured_claims_of
from headgate.plugins.host import PluginHost
from headgate_storm.demo.priority.claims import measure
from headgate_storm.demo.priority.holding import Span, nodes_of, spans
from headgate_storm.demo.priority.latency import (
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
from headgate_storm.demo.priority.picture import holding_svg
from headgate_storm.demo.priority.run import FIG_6, Phase, PriorityDemoResult
from headgate_storm.demo.priority.show import COLUMNS, data, html, marks, rows
from headgate_storm.demo.priority.workload import ARCHIVES, EVENTS, GATEWAYS, MEMBERS, Workload
from shell import gone, interrupted, running

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
    assert [word for _, word in marks(found)] == ["on"]


def test_the_page_has_a_picture_and_the_table_what_was_lost():
    result = PriorityDemoResult(workload=SMALL, phases=(phase([]),), seconds=1.0)
    ((*cells,),) = rows(result)
    assert dict(zip(COLUMNS, cells, strict=True))["in / out"] == "320 / 0"
    assert html(result).count("<svg") == 1
    assert data(result)["phases"][0]["balances"]["EventTP1"]["lost"] == 80
    drawn = holding_svg(phase([]).spans, 0.0, 10.0, [(5.0, "on")])
    assert all(f"{name} on 127.0.0.11 for 9 s" in drawn for name in EVENTS)


def test_the_figure_that_the_thesis_prints_is_that_of_the_means_of_both_schedulers():
    seen = []

    def run(workload):
        seen.append(workload.service)
        phases = [attrs.evolve(phase([]), scheduler=name, latencies=Latencies(complex_events=times, high=(), low=()))
                  for name, times in (("sps", (10.0, 14.0)), ("dps", (10.0, 6.0)))]  # fmt: skip
        return PriorityDemoResult(workload=workload, phases=tuple(phases), seconds=1.0)

    assert measure(0.3, run) == pytest.approx(0.5)
    assert seen == [0.3]
    host = PluginHost.load()
    assert {each.printed for each in measured_claims_of(host, "sps")} == {0.21, 0.38, 0.39}
    assert [each.id for each in measured_claims_of(host, "dps")] == [
        each.id for each in measured_claims_of(host, "sps")
    ]
    assert measured_claims_of(host, "even") == ()


@pytest.mark.storm
@pytest.mark.slow
@pytest.mark.network
@pytest.mark.matrix
@pytest.mark.timeout(LIMIT + 60)
def test_triggers_move_nodes_and_every_tuple_comes_out_once(java, tmp_path):
    """Each figure from the files that topologies wrote, the manager's history, and the rounds of Nimbus."""
    words = ("-s", "dps", "--batches", "4", "--gap", "25", "--factor", "0.5", "--json")
    with running("demo", "priority", *words, folder=tmp_path) as (run, mark):
        out, messages = run.communicate(timeout=LIMIT)
        assert run.returncode == 0, messages
        assert gone(mark) == []
    found = json.loads(out)
    assert found == json.loads((tmp_path / "headgate-demo" / "priority.json").read_text())
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
    page = (tmp_path / "headgate-demo" / "priority.html").read_text()
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
def test_an_interrupted_demo_ends_everything_it_started(java, tmp_path):
    interrupted("demo", "priority", folder=tmp_path, number=signal.SIGINT, at="all of it is up")
    assert not (tmp_path / "headgate-demo").exists()

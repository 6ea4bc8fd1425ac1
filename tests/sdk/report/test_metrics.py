"""Metrics as Prometheus reads them: over HTTP, computed then, by its own parser."""

from __future__ import annotations

from typing import get_args
from urllib.request import urlopen

import attrs
import pytest

from headworks.control.journal import Outcome, Round
from headworks.control.totals import HeardRounds
from headworks.errors import EngineError, PluginError
from headworks.model import (
    FrozenMap,
    Metrics,
    MoveKind,
    Plan,
    Reason,
    Receipt,
    Scores,
    Status,
    Step,
    StreamSample,
    TaskSample,
)
from headworks.plugins.host import PluginHost
from headworks.plugins.tally import PluginTally
from headworks.problem import Problem
from headworks.report.metrics import FAMILIES, node_states, unplaced
from memory_engine import Engine, Judge, Machine
from small_requests import component, node, request, topology, word_count

prometheus = pytest.importorskip("headworks.report.prometheus", reason="needs prometheus-client")
parser = pytest.importorskip("prometheus_client.parser", reason="needs prometheus-client")

FLOWS = Metrics(
    streams=(
        StreamSample(topology="words", source="spout", target="split", tuples=100.0),
        StreamSample(topology="words", source="split", target="count", tuples=500.0),
    )
)
NEW = attrs.evolve(word_count(), metrics=FLOWS)
APART = Problem.of(NEW).plan([0, 0, 1, 1, 0])
"""Counters on a, splitters on b, the spout on a: all is between nodes."""
RUNNING = attrs.evolve(NEW, assignment=APART.assignment)
NEARER = Problem.of(RUNNING).plan([0, 0, 1, 1, 1])
"""The spout beside the splitters."""


def read(url):
    """Values by the metric's name and the values of its labels, in the order of their names, and the text."""
    with urlopen(url) as page:
        text = page.read().decode()
    families = parser.text_string_to_metric_families(text)
    return {(each.name, *each.labels.values()): each.value for family in families for each in family.samples}, text


def served(heard, tally=None, counts=dict):
    return prometheus.served(("127.0.0.1", 0), heard, tally or PluginTally(), counts)


def heard(*rounds):
    found = HeardRounds()
    for each in rounds:
        found.hear(each)
    return found


def test_every_metric_is_there_before_the_first_round_and_says_how_stable_it_is():
    with served(heard()) as url:
        found, text = read(url)
    counted = {name for name, *_ in found}
    stops = {"headworks_stop_seconds_count", "headworks_stop_seconds_sum"}
    assert counted == {"headworks_rounds_total", "headworks_moves_total"} | stops
    assert {each for _, *labels in found for each in labels} == {*get_args(Outcome), *map(str, MoveKind)}
    assert set(found.values()) == {0.0}
    for each in FAMILIES:
        assert f"# HELP {each.name} [{each.stability}] {each.help}" in text
        assert f"# TYPE {each.name} {each.kind}" in text


def test_metrics_are_computed_when_they_are_read():
    rounds, counts = heard(), {"received": 7}
    with served(rounds, counts=lambda: counts) as url:
        rounds.hear(Round(number=1, outcome="executed", request=NEW, plan=APART))
        assert read(url)[0]["headworks_rounds_total", "executed"] == 1
        stopped = Receipt(steps=(Step(action="seat", subject="words/spout/0", stopped=0.25),))
        rounds.hear(Round(number=2, outcome="executed", request=RUNNING, plan=NEARER, receipt=stopped))
        rounds.hear(Round(number=3, outcome="waiting", request=RUNNING, plan=APART))
        counts["lost"] = 2
        found, _ = read(url)
    assert found["headworks_rounds_total", "executed"] == 2
    assert found["headworks_rounds_total", "waiting"] == 1
    assert (found["headworks_moves_total", "place"], found["headworks_moves_total", "migrate"]) == (5, 1)
    assert (found["headworks_stop_seconds_count",], found["headworks_stop_seconds_sum",]) == (1, 0.25)
    assert found["headworks_traffic_share", "measured"] == 1.0
    assert found["headworks_traffic_share", "planned"] == 1.0
    assert found["headworks_traffic_share", "predicted"] == pytest.approx(5 / 6)
    assert found["headworks_nodes", "used"] == 2
    assert (found["headworks_reports_total", "received"], found["headworks_reports_total", "lost"]) == (7, 2)


def test_a_share_that_was_not_measured_is_left_out():
    with served(heard(Round(number=1, outcome="quiet", request=word_count()))) as url:
        assert not [each for each in read(url)[0] if each[0] == "headworks_traffic_share"]


def test_a_node_has_one_state():
    parts = topology("t", component("c", 3, 60.0))
    asked = request([node("a"), node("b"), node("c")], [parts], {"t/c/0": "a", "t/c/1": "a", "t/c/2": "b"})
    assert node_states(asked) == {"overloaded": 1, "used": 1, "empty": 1}


def test_tasks_without_a_slot_are_counted_by_what_is_short_and_each_once():
    asked = request([node("a")], [topology("t", component("c", 40, 50.0))])
    plan = PluginHost.load().schedule("even", asked)
    found = unplaced(plan, asked)
    assert sum(found.values()) == plan.scores.unplaced == 38
    assert found.keys() == {"cpu", "other"}


def test_a_topology_that_starves_is_counted_as_such():
    asked = request([node("a")], [topology("t", component("c", 3)), topology("u", component("c"))])
    reason = Reason(code="starved", subject="t", message="others take all nodes")
    plan = Plan(status=Status.INFEASIBLE, reasons=(reason,), scores=Scores(unplaced=4), assignment=FrozenMap())
    assert unplaced(plan, asked) == {"starved": 3, "other": 1}


def test_plans_and_errors_of_plugins_are_counted():
    host = PluginHost().with_plugin("judge", Judge([0])).with_plugin("memory", Engine())
    host.schedule("judge", word_count())
    with pytest.raises(PluginError):
        host.observe("memory", Machine(None, broken={"observe"}), 0.1)
    with served(heard(), host.tally) as url:
        found, _ = read(url)
    assert found["headworks_planning_seconds_count", "judge"] == 1
    assert found["headworks_planning_seconds_sum", "judge"] > 0
    assert found["headworks_plugin_errors_total", "headworks_schedule", "judge"] == 1
    assert found["headworks_plugin_errors_total", "headworks_observe", "memory"] == 1


def test_figures_of_the_busiest_tasks_are_shown_as_they_are_now():
    def seen(*cpu):
        tasks = tuple(TaskSample(task=f"words/count/{index}", cpu=each, queue=3.0) for index, each in enumerate(cpu))
        return attrs.evolve(RUNNING, metrics=Metrics(tasks=tasks))

    rounds = heard(Round(number=1, outcome="quiet", request=seen(20.0, 10.0)))
    with prometheus.served(("127.0.0.1", 0), rounds, PluginTally(), dict, tasks=1) as url:
        assert {each: value for each, value in read(url)[0].items() if "_task_" in each[0]} == {
            ("headworks_task_cpu_points", "count", "0", "words"): 20.0,
            ("headworks_task_queued_tuples", "count", "0", "words"): 3.0,
        }
        rounds.seen = lambda: seen(20.0, 30.0)
        assert read(url)[0]["headworks_task_cpu_points", "count", "1", "words"] == 30.0
    with served(rounds) as url:
        assert not [each for each, *_ in read(url)[0] if "_task_" in each]


def test_an_address_that_is_taken_is_told_and_two_loops_have_metrics_of_their_own():
    one = heard(Round(number=1, outcome="quiet"))
    with served(one) as url, served(heard()) as other:
        assert read(url)[0]["headworks_rounds_total", "quiet"] == 1
        assert read(other)[0]["headworks_rounds_total", "quiet"] == 0
        taken = ("127.0.0.1", int(url.partition("127.0.0.1:")[2].partition("/")[0]))
        with (
            pytest.raises(EngineError, match="cannot be listened on: Address already in use"),
            prometheus.served(taken, one, PluginTally(), dict),
        ):
            pass

"""What a change would bring, planned and predicted, beside what runs."""

from __future__ import annotations

import attrs
import pytest

from headworks.control.simulated import LoadFigures, figures
from headworks.model import FrozenMap, Metrics, TopologySample
from headworks.model.variants import RequestChange
from headworks.plugins.host import PluginHost
from headworks.problem import Problem
from headworks.report.what_if import COLUMNS, rows, what_if
from headworks.testing import FirstFit
from small_requests import component, node, request, topology, word_count

HOST = PluginHost.load()
NODES = tuple(node(name, cpu=200.0) for name in "ab")
NEW = attrs.evolve(word_count(), cluster=attrs.evolve(word_count().cluster, nodes=NODES))
RUNNING = attrs.evolve(NEW, assignment=Problem.of(NEW).plan([0, 0, 1, 1, 0]).assignment)
"""All of its traffic is between nodes."""


def bring(asked=RUNNING, scheduler="dstorm", host=HOST, **change):
    return what_if(asked, RequestChange(**change), scheduler, host)


def cells(found):
    return {name: dict(zip(COLUMNS[1:], row, strict=True)) for name, *row in rows(found)}


def test_a_lost_node_leaves_all_on_the_other_as_planned_and_as_predicted():
    found = bring(lose=("b",))
    assert (found.present.share, found.present.nodes_used) == (1.0, 2)
    assert (found.plan.status, found.plan.scores.share, found.plan.scores.nodes_used) == ("ok", 0.0, 1)
    assert (found.before.share, found.after.share) == (pytest.approx(1.0), 0.0)
    assert (found.before.completed, found.after.completed) == (pytest.approx(100.0), pytest.approx(100.0))
    assert found.after.fullest_node == pytest.approx(found.plan.scores.fullest_node, rel=0.05)


def test_another_load_is_planned_and_predicted_as_far_as_a_node_bears_it():
    found = bring(lose=("b",), load=1.5)
    assert (found.before.offered, found.after.offered) == (pytest.approx(100.0), pytest.approx(150.0))
    assert found.plan.scores.fullest_node == pytest.approx(0.975)
    assert cells(found)["completed of offered"]["planned predicted"] == "100.0%"
    too_much = bring(lose=("b",), load=2.0)
    assert too_much.plan.status == "infeasible"
    assert int(cells(too_much)["tasks without a slot"]["planned"]) > 0


def test_figures_stand_side_by_side_and_those_that_nobody_knows_are_left_out():
    found = cells(bring(lose=("b",)))
    assert found["traffic between nodes"] == {
        "present": "100.0%",
        "planned": "0.0%",
        "present predicted": "100.0%",
        "planned predicted": "0.0%",
    }
    assert found["running tasks that move"]["planned"] == "0"  # those of a lost node run no more, and are placed
    assert found["status"]["planned"] == "ok"
    assert "cost per hour" not in found
    assert "longest batch, s" not in found


def test_the_present_has_what_was_measured():
    seen = Metrics(topologies=(TopologySample(topology="words", offered=100.0, throughput=90.0, latency=12.0),))
    found = cells(bring(attrs.evolve(RUNNING, metrics=seen)))
    assert found["tuples/s completed"]["present"] == "90"
    assert found["latency, ms"]["present"] == "12"


def test_what_does_not_run_yet_has_a_plan_alone():
    found = bring(NEW)
    assert (found.before, found.after is None) == (None, False)
    assert cells(found)["nodes used"] == {
        "present": "",
        "planned": "1",
        "present predicted": "",
        "planned predicted": "",
    }


def test_a_scheduler_that_chooses_the_number_of_tasks_is_predicted_with_these():
    asked = HOST.workloads("hetero")[0].build()
    found = what_if(asked, RequestChange(), "hetero", HOST)
    assert found.plan.parallelism
    assert found.unpredicted == ""
    assert found.after.completed > 0


def test_a_scheduler_of_a_stranger_needs_no_line_for_it():
    found = bring(scheduler="mine", host=HOST.with_plugin("mine", FirstFit()), drain=("a",))
    assert (found.plan.status, found.plan.scores.nodes_used, found.plan.scores.moves) == ("ok", 1, 3)
    assert found.after.completed == pytest.approx(100.0)


def test_without_the_simulated_engine_the_plan_is_shown_and_why_nothing_is_predicted():
    found = bring(host=PluginHost.load(["dstorm"]))
    assert (found.before, found.after, found.plan.status) == (None, None, "ok")
    assert found.unpredicted.startswith("nothing is predicted: there is no ")


def test_a_share_is_predicted_in_the_unit_of_the_plan():
    """The simulated engine counts bytes, too, and bytes have another share between nodes than tuples."""
    asked = next(each for each in HOST.workloads("dstorm") if each.name == "wordcount").build()
    found = what_if(asked, RequestChange(), "dstorm", HOST)
    assert found.plan.scores.unit == "tuples/s"
    assert found.after.share == pytest.approx(found.plan.scores.share)


def test_figures_of_several_topologies_are_known_where_each_is():
    parts = [topology("t", component("c")), topology("u", component("c"))]
    one = TopologySample(topology="t", offered=5.0, throughput=4.0, latency=7.0)
    both = (one, TopologySample(topology="u", offered=1.0, throughput=1.0, latency=9.0))
    asked = request([node("a")], parts)
    found = figures(attrs.evolve(asked, metrics=Metrics(topologies=both)))
    assert (found.offered, found.completed, found.latency) == (6.0, 5.0, 9.0)
    half = (one, TopologySample(topology="u", offered=1.0))
    found = figures(attrs.evolve(asked, metrics=Metrics(topologies=half)))
    assert (found.offered, found.completed, found.latency) == (6.0, None, None)
    assert figures(attrs.evolve(asked, assignment=FrozenMap())) == LoadFigures()

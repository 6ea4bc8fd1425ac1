"""What unequal machines bear, planned and counted: nodes, tasks where a plan has them, figures of the paper."""

from __future__ import annotations

from collections import Counter

import attrs
import pytest

from headworks.api import workload
from headworks.errors import EngineError
from headworks.model import Cluster, Request
from headworks.model.scaling import rescaled
from headworks.plugins.host import PluginHost
from headworks_lab.benchmarks.storm import joint
from headworks_lab.evidence import named
from headworks_lab.measure.sizing import fed
from headworks_lab.storm.consolidation.run import latencies
from headworks_lab.storm.heterogeneity.claims import below_best, gain, measured_claims, off
from headworks_lab.storm.heterogeneity.machines import ratios, unequal
from headworks_lab.storm.heterogeneity.planned import NAME, Planned
from headworks_lab.storm.heterogeneity.run import SHAPES, Borne, planned, prediction, run
from headworks_local.isolated import ability
from headworks_storm.nimbus.snapshot import read_snapshot
from storm_rounds import component, round_text, supervisor, topology

HOST = PluginHost.load(["hetero"])


def linear():
    return unequal(workload("hetero:linear-three-met5"))


def test_a_machine_that_is_slower_has_less_processor_time():
    printed = workload("hetero:linear-three-met5")
    assert ratios(printed.profiles) == pytest.approx({"machine-1": 1, "machine-2": 1.811, "machine-3": 1.627}, abs=1e-3)
    asked = linear()
    assert [each.capacity.cpu for each in asked.cluster.nodes] == pytest.approx([100, 55.2, 61.5], abs=0.1)
    assert [each.workers for each in asked.topologies] == [3]
    # The processor time of a tuple, points for so many seconds, is the same on all machines.
    whole = {each.machine_type: each.capacity.cpu for each in asked.cluster.nodes}
    for part in ("1L", "2M", "3H"):
        seconds = [each.e * whole[each.machine_type] for each in asked.profiles if each.component == part]
        assert seconds == pytest.approx([seconds[0]] * 3)
    # The costs that are printed, within what one ratio for all components leaves.
    for mine, theirs in zip(asked.profiles, printed.profiles, strict=True):
        assert mine.e == pytest.approx(theirs.e, rel=0.04)


def test_spouts_get_what_is_fed_in_the_proportion_of_their_rates():
    star = workload("hetero:star-three-met5")
    rates = {each.id: each.rate for each in fed(star, 300.0).topologies[0].components}
    assert rates == {"1L": 150.0, "2M": 150.0, "3H": None, "4L": None, "5M": None}
    tweets = workload("storm:url-converter")  # at 2,000 a second
    demands = [each.demand["cpu"] for each in fed(tweets, 500.0).topologies[0].components]
    assert demands == [each.demand["cpu"] / 4 for each in tweets.topologies[0].components]


def test_tasks_go_where_the_plan_has_them_and_ackers_to_the_nodes_that_it_uses():
    asked = linear()
    plan = planned(HOST, "hetero", asked)
    request = fed(rescaled(asked, plan), 100.0)
    tasks = {each.id: each.parallelism for each in request.topologies[0].components}
    numbers = iter(range(1, 100))
    parts = [
        component(name, [n for _ in range(count) for n in (next(numbers),) * 2], kind="bolt")
        for name, count in (*tasks.items(), ("__acker", 3))
    ]
    machines = [{**supervisor(f"s{index}"), "machine": f"machine-{index}"} for index in (3, 1, 2)]
    placed = {**topology("linear-1-2", *parts), "name": "linear"}
    seen = Request.of(read_snapshot(round_text(machines, [placed])).observation())
    found = HOST.with_plugin(NAME, Planned(request, plan)).schedule(NAME, seen)
    assert found.status == "ok"

    def by_type(assignment, cluster: Cluster):
        kind = {each.id: each.machine_type for each in cluster.nodes}
        return Counter((task.split("/")[1], kind[slot.node]) for task, slot in assignment.items())

    where = by_type(found.assignment, seen.cluster)
    ackers = {kind: count for (name, kind), count in where.items() if name == "__acker"}
    used = {slot.node.removesuffix("-0001") for slot in plan.assignment.values()}
    assert sum(ackers.values()) == 3
    assert set(ackers) <= used
    assert {key: count for key, count in where.items() if key[0] != "__acker"} == by_type(
        plan.assignment, asked.cluster
    )


def test_cpu_is_predicted_by_equation_5_at_the_rate_that_was_borne():
    asked = linear()
    plan = planned(HOST, "hetero", asked)
    request = rescaled(asked, plan)
    full = prediction(request, plan, plan.input_rate)
    assert max(full) == pytest.approx(100, abs=1)
    fixed = prediction(request, plan, 0.0)
    assert sum(fixed) == pytest.approx(5 * len(plan.assignment))
    half = prediction(request, plan, plan.input_rate / 2)
    assert half == pytest.approx([(low + high) / 2 for low, high in zip(fixed, full, strict=True)])


def found():
    """Two repetitions of one shape, whose rates are known, and a window at part of the rate."""
    one = Borne(shape="linear", placement="storm", rate=100.0)
    rates = (("storm", 100.0), ("hetero", 150.0), ("optimal", 200.0), ("storm", 80.0), ("hetero", 100.0))
    full = [attrs.evolve(one, placement=name, rate=rate) for name, rate in (*rates, ("optimal", 125.0))]
    part = attrs.evolve(one, placement="hetero", rate=50.0, predicted=(40.0, 30.0), used=(43.0, 24.5), full=False)
    other = attrs.evolve(part, shape="star", used=(99.0, 30.0))
    return (*full, part, other)


def test_gains_and_gaps_are_medians_of_repetitions_and_the_prediction_is_off_by_its_worst_node():
    assert gain("linear", found).median == pytest.approx(0.375)
    assert below_best("linear", found).median == pytest.approx(0.225)
    assert off("linear", found) == pytest.approx(5.5)
    assert off("star", found) == pytest.approx(59.0)


def test_the_paper_s_plugin_has_them():
    claims = measured_claims()
    assert {each.id for each in claims} == {
        f"{kind}-live-{shape}" for kind in ("gain", "below-best", "cpu") for shape in SHAPES
    }
    assert {each.id for each in named.measured_claims("hetero")} == {each.id for each in claims}


def test_where_nodes_cannot_be_apart_nothing_is_measured_and_the_reason_is_told(monkeypatch):
    monkeypatch.setattr(ability, "network_problem", lambda: "no namespaces here")
    for measure in (run, latencies):
        with pytest.raises(EngineError, match="do not compare on this machine: no namespaces here"):
            measure(print)
    monkeypatch.setattr(ability, "network_problem", lambda: "")
    monkeypatch.setattr(ability, "bounds", tuple)
    with pytest.raises(EngineError, match="no control group for processor time"):
        run(print)


def test_numbers_and_nodes_together_bear_more_by_the_model_where_links_bind():
    """At 2 Mbit/s a node, of tuples of 1,000 bytes; halves keep the numbers that were chosen by CPU alone."""
    made = joint.plans(joint.request("diamond", 2.0))
    assert made["halves"].parallelism == made["storm"].parallelism != made["together"].parallelism
    assert made["together"].input_rate > 1.2 * made["halves"].input_rate

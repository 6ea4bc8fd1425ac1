"""What redeploying tasks costs, as it is counted: seconds by level, the random choice, and the figures of the paper."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headworks.errors import EngineError
from headworks.model import Cluster, Node, Request, Resources, Slot
from headworks.plugins.host import PluginHost
from headworks_lab.evidence import named
from headworks_lab.storm.redeployment.choice import redeployed
from headworks_lab.storm.redeployment.claims import (
    AT_ONCE,
    DEGRADED,
    FASTER,
    SATURATED,
    SHARES,
    compared,
    degraded,
    faster,
    measured_claims,
    share,
)
from headworks_lab.storm.redeployment.degradation import LEVELS, Degradation
from headworks_lab.storm.redeployment.run import CYCLE, NODES, Online, Redeployment, adjust, topology
from headworks_lab.storm.redeployment.saturated import BOTTLENECKS, Saturated, endless, saturated, usage

ADJUSTMENTS = 6
"""Rounds of OTD on a real cluster, each with one look or two. With more, the test takes longer."""
RUN = Degradation(usual=100.0, rates=(100.0, 81.0, 80.0, 60.0, 41.0, 40.0, 20.0, 0.0, 0.0, 178.0))


def test_seconds_count_at_each_level_that_they_reach():
    assert [RUN.share(level) for level in LEVELS] == [0.7, 0.6, 0.4, 0.3, 0.2]
    assert RUN.throughput == pytest.approx(0.6)


SLOTS = tuple(Slot(node, port) for node in "ab" for port in (1, 2))


@given(st.lists(st.sampled_from(SLOTS), min_size=4, max_size=20), st.integers(1, 20), st.integers(0, 99))
def test_so_many_tasks_get_another_slot_and_none_has_more_than_it_must(places, count, seed):
    assignment = {f"t/c/{index}": slot for index, slot in enumerate([*SLOTS, *places])}
    found = redeployed(assignment, assignment, count, random.Random(seed))
    assert len(found) == min(count, len(assignment))
    assert all(assignment[task] != slot for task, slot in found.items())
    after = Counter({**assignment, **found}.values())
    stay = Counter(slot for task, slot in assignment.items() if task not in found)
    even = max(*stay.values(), -(-len(assignment) // len(SLOTS)), 0)
    assert max(after.values()) <= even + 1  # a task may not stay where there would be room for it


def test_tasks_that_may_not_move_are_not_drawn():
    assignment = {"t/c/0": SLOTS[0], "t/c/1": SLOTS[1], "t/spout/0": SLOTS[2]}
    for seed in range(20):
        assert "t/spout/0" not in redeployed(assignment, ["t/c/0", "t/c/1"], 1, random.Random(seed))


def found():
    """Runs whose degradation is known."""
    rates = {("storm", 0): (0.0, 100.0), ("touched", 1): (40.0, 100.0), ("seats", 1): (100.0, 100.0)}
    rates[("seats", 16)] = (0.0, 40.0, 100.0, 100.0)
    return tuple(
        Redeployment(way=way, tasks=tasks, degradation=Degradation(usual=100.0, rates=seen), restarted=0)
        for (way, tasks), seen in rates.items()
    )


def online():
    """OTD that ends at a tenth."""
    return Online(shares=(0.5, 0.3, 0.1), tuples=(0.5, 0.2, 0.05), migrations=2, slow=0, seconds=9, restarted=0)


def test_printed_figures_are_parts_of_the_time_and_ratios_of_the_runs_that_they_name():
    parts = {name: degraded(way, level, found) for name, _, _, way, level, _ in DEGRADED}
    assert parts == {
        "degraded-storm": 0.5,
        "stopped-storm": 0.5,
        "degraded-touched": 0.5,
        "degraded-1": 0.0,
        "degraded-16": 0.5,
        "stopped-16": 0.25,
    }
    ratios = {name: faster(way, other, found) for name, _, way, other, _ in FASTER}
    assert ratios == pytest.approx(
        {"throughput-touched": 0.4, "throughput-over-touched": 1 / 0.7 - 1, "throughput-over-storm": 1.0}
    )


def test_what_goes_between_nodes_is_told_of_bytes_and_of_tuples_before_otd_and_after():
    found = {name: share(unit, look, online) for name, _, _, unit, look in SHARES}
    assert found == {"share-live-before": 0.5, "share-live-after": 0.1, "share-live-tuples": 0.05}


def windows(**figures):
    """Windows with so many values of each figure."""
    return tuple(dict(zip(figures, values, strict=True)) for values in zip(*figures.values(), strict=True))


def adjusted(_case):
    """Three windows before OTD, and three after."""
    return Saturated(
        before=windows(throughput=(100, 200, 100), latency=(10, 20, 10), usage=(0.5, 0.4, 0.6), inter_node=(0.5,) * 3),
        after=windows(throughput=(120, 220, 130), latency=(9, 10, 8), usage=(0.8, 0.7, 0.9), inter_node=(0.2,) * 3),
        migrations=3,
    )


def test_figures_of_otd_are_compared_window_by_window():
    found = {name: compared(case, how, figure, adjusted).median for name, _, _, _, case, how, figure in SATURATED}
    assert found == pytest.approx(
        {
            "throughput-otd-computation": 0.2,
            "usage-storm-computation": 0.5,
            "usage-otd-computation": 0.8,
            "share-otd-computation": 0.2,
            "throughput-otd": 0.2,
            "delay-otd": 0.2,
        }
    )


def test_where_nodes_are_not_apart_nothing_is_measured_of_them(monkeypatch, tmp_path):
    monkeypatch.setattr("headworks_local.isolated.ability.times_problem", lambda: "no namespaces")
    for case in BOTTLENECKS.values():
        with pytest.raises(EngineError, match="times of nodes do not compare on this machine: no namespaces"):
            saturated(case(), PluginHost(), tmp_path, print)


def test_bolt_1_computes_on_nodes_that_differ_and_not_where_the_network_is_the_bottleneck():
    cases = {name: case() for name, case in BOTTLENECKS.items()}
    costs = {
        name: {each["id"]: each["micros"] for each in case.described["components"]} for name, case in cases.items()
    }
    assert costs["computation"] == {"lines": 0, "split": 4000, "count": 0}
    assert set(costs["communication"].values()) == {0}
    assert [each.cores for each in cases["computation"].bounds] == [1.0, 0.5]
    assert [each.rate for each in cases["communication"].bounds] == [1e6, 1e6]


def test_usage_is_that_of_each_node_by_what_it_has():
    assert usage((50.0, 50.0), [100.0, 50.0]) == 0.75


def test_the_spout_sends_what_the_topology_bears():
    assert [each.rate for each in endless().components] == [None] * 3


def test_the_paper_s_plugin_has_them_and_every_run_that_they_name_is_made():
    claims = measured_claims()
    assert {each.id for each in claims} >= {row[0] for row in (*DEGRADED, *FASTER, *SATURATED)}
    assert all(each.measured and each.printed for each in claims)
    runs = {("storm", 0), ("touched", 1), *(("seats", tasks) for tasks in AT_ONCE)}
    assert {row[3] for row in DEGRADED} | {each for row in FASTER for each in row[2:4]} == runs
    host = PluginHost.load()
    assert {each.id for each in named.measured_claims("otd")} == {each.id for each in claims}
    cluster = Cluster(
        nodes=tuple(Node(id=each.host, capacity=Resources(cpu=400, memory=4096), slots=(1, 2)) for each in NODES)
    )
    assert host.schedule("even", Request(cluster=cluster, topologies=(topology(),))).status == "ok"


@pytest.mark.storm
@pytest.mark.slow
@pytest.mark.matrix
def test_otd_moves_tasks_while_all_workers_run(java, tmp_path):
    found = adjust(PluginHost.load(), tmp_path, lambda _message: None, ADJUSTMENTS)
    assert found.migrations >= 1
    assert found.restarted == 0
    assert ADJUSTMENTS < len(found.shares) == len(found.tuples) <= 1 + 2 * ADJUSTMENTS
    assert found.slow < found.seconds >= CYCLE * ADJUSTMENTS

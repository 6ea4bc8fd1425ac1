"""Whom `optimal` asks for a plan to start from, and what it does with the answers."""

from __future__ import annotations

import attrs
import pytest

from headworks.model import NOT_SEARCHED
from headworks.model.scaling import rescaled
from headworks.plugins.host import PluginHost
from headworks_dstorm.workloads import BenchmarkSetting, micro_benchmark
from headworks_exact import by_topology, placement
from headworks_exact.options import Options
from headworks_exact.search import search
from hetero_cases import profiled
from small_requests import word_count

TRAFFIC, THROUGHPUT = micro_benchmark("linear", BenchmarkSetting(cs=40)), profiled([[0.1, 0.2]])


def asked(request, **options):
    """Names and seconds, as `optimal` asks them of somebody who has no plan."""
    heard = []
    search(request, Options(**options), lambda name, seconds: heard.append((name, seconds)))
    return heard


@pytest.mark.parametrize(
    ("request_", "names"), [(TRAFFIC, ["dstorm-plus", "dstorm"]), (THROUGHPUT, ["hetero-plus", "hetero"])]
)
def test_the_schedulers_of_its_objective_are_asked_for_three_tenths_of_the_deadline_each(request_, names):
    limits = attrs.evolve(request_.limits, deadline=100.0)
    heard = asked(attrs.evolve(request_, limits=limits))
    assert heard == [(name, pytest.approx(30.0)) for name in names]


@pytest.mark.parametrize("request_", [word_count(), THROUGHPUT])
@pytest.mark.parametrize("others", [(), ("dstorm", "hetero")])
def test_a_plan_is_offered_only_where_some_task_runs_nowhere(request_, others, monkeypatch):
    offered = []
    for module in ("search", "throughput"):
        monkeypatch.setattr(f"headworks_exact.{module}.offer", offered.append)
    host = PluginHost.load(("optimal", *others))
    patient = attrs.evolve(request_, limits=attrs.evolve(request_.limits, deadline=60.0))
    plan = host.schedule("optimal", patient, Options(effort=0.005))
    assert len(offered) == 1
    running = attrs.evolve(rescaled(patient, plan), assignment=plan.assignment)
    host.schedule("optimal", running, Options(effort=0.005))
    assert len(offered) == 1


@pytest.mark.parametrize("options", [{"ask": False}, {"measured": False}])
def test_nobody_is_asked_without_the_option_nor_for_what_others_do_not_plan_by(options):
    assert asked(TRAFFIC, **options) == []


def test_it_is_as_good_as_those_that_it_asks(monkeypatch):
    monkeypatch.setattr(placement, "CLASSES", 0)  # nothing is searched: its own plan is a packing
    monkeypatch.setattr(by_topology, "COMPONENTS", 0)
    names = ("optimal", "dstorm-plus", "dstorm")
    host = PluginHost.load(names)
    request = attrs.evolve(TRAFFIC, limits=attrs.evolve(TRAFFIC.limits, deadline=600.0))
    plans = {name: host.schedule(name, request) for name in names}
    alone = host.schedule("optimal", request, Options(ask=False))
    assert plans["optimal"].scores.inter_node == plans["dstorm-plus"].scores.inter_node <= alone.scores.inter_node
    assert NOT_SEARCHED in {each.code for each in plans["optimal"].reasons}

"""Nodes lacking to minima, under `sps` and under `sps-v2`."""

from __future__ import annotations

import pytest

from headworks.model import FrozenMap, Plan, Slot
from headworks.plugins.host import PluginHost
from headworks_lab.evidence.variants import improve
from headworks_lab.papers.priority_improvements import improvements, lacking, least_lacking
from headworks_priority.plugin import sps, sps_v2
from headworks_priority.workloads import USE_CASE_1, use_case

HOST = PluginHost().with_plugin("sps", sps).with_plugin("sps-v2", sps_v2)
IMPROVEMENTS = {each.id: each for each in improvements()}


@pytest.mark.parametrize(
    ("name", "paper", "least"),
    [("use-case-1-10", 12.0, 2.0), ("use-case-1-13", 1.0, 0.0), ("table-8-16", 0.0, 0.0), ("table-12-20", 0.0, 0.0)],
)
def test_the_variant_lacks_no_more_than_nobody_can_give(name, paper, least):
    row = improve(IMPROVEMENTS[name], "sps-v2", HOST)
    assert (row.paper, row.ours, row.optimum, row.status) == (paper, least, least, "proved")


def test_what_is_lacking_is_counted_on_the_placement():
    placed = FrozenMap({"a/x/0": Slot("n1", 1), "a/x/1": Slot("n1", 2), "b/x/0": Slot("n2", 1)})
    plan = Plan(assignment=placed)
    assert lacking({"a": 2, "b": 1, "c": 3}, plan) == 1 + 0 + 3


def test_the_bound_is_what_the_cluster_is_short_of_the_minima():
    minima = sum(row.minimum for row in USE_CASE_1.values())
    assert [least_lacking(use_case(USE_CASE_1, minima - short)) for short in (3, 0, -3)] == [3.0, 0.0, 0.0]

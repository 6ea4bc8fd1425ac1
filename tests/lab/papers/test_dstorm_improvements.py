"""Rows of `dstorm-plus` whose optimum is proved at once, and what they say without OR-Tools."""

from __future__ import annotations

import pytest

from headworks.plugins.host import PluginHost
from headworks_lab.evidence.variants import improve
from headworks_lab.papers.dstorm_improvements import improvements

IMPROVEMENTS = {each.id: each for each in improvements()}


@pytest.mark.parametrize("name", ["linear-cs20", "diamond-cs30", "star-cs40"])
def test_a_row_has_the_published_figure_the_variant_s_and_the_proved_optimum(name):
    row = improve(IMPROVEMENTS[name], "dstorm-plus", PluginHost.load(["dstorm", "dstorm-plus", "optimal"]))
    assert (row.status, row.note) == ("proved", "")
    assert row.optimum <= row.ours < row.paper


def test_a_gap_of_the_published_scheduler_is_not_hidden():
    row = improve(IMPROVEMENTS["star-ss1.33"], "dstorm-plus", PluginHost.load(["dstorm", "dstorm-plus", "optimal"]))
    assert row.status == "proved"
    assert row.optimum == row.ours < row.paper
    assert row.gap(row.paper) > 0.2


def test_without_or_tools_the_row_names_the_extra(monkeypatch):
    monkeypatch.setattr("headworks_exact.search.find_spec", lambda name: None)
    row = improve(IMPROVEMENTS["linear-cs20"], "dstorm-plus", PluginHost.load(["dstorm", "dstorm-plus", "optimal"]))
    assert (row.optimum, row.bound, row.status) == (None, None, "no bound")
    assert row.note == "optimal needs OR-Tools: `pip install '.[exact]'` in the clone, or the wheel with [exact]"
    assert row.ours < row.paper

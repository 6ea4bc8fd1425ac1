"""The first steps show what their page says."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from headworks import compare, plan, workload
from headworks.cli.main import headworks
from headworks_sim.experiments.experiment import run

PAGE = (Path(__file__).parents[2] / "docs" / "get-started.md").read_text()


def test_the_figures_of_the_page_are_those_of_the_plans():
    request = workload("dstorm:linear")
    found = plan(request, "dstorm").scores
    assert f"uses {found.nodes_used} of {len(request.cluster.nodes)} nodes, and that {found.share:.1%}" in PAGE
    even, dstorm = compare(request, ["even", "dstorm"]).plans
    assert f"so {even.plan.scores.share:.1%} of the traffic" in PAGE
    assert even.plan.scores.nodes_used == len(request.cluster.nodes)
    assert dstorm.plan.scores.factor < 1.05


@pytest.mark.parametrize("scheduler", ["even", "dstorm"])
def test_both_schedulers_complete_all_tuples(scheduler):
    found = run(workload("dstorm:linear"), scheduler, duration=120.0)
    assert found.completed == pytest.approx(1)


def test_the_package_has_the_module_that_the_page_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(headworks, ["new", "scheduler", "mine"]).exit_code == 0
    assert (tmp_path / "mine-scheduler" / "headworks_mine" / "__init__.py").exists()

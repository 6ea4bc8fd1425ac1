"""The schedulers of `examples/schedulers`, one short file each, keep the contract and do what they are for."""

from __future__ import annotations

import ast
import runpy
from pathlib import Path

import pytest

from headworks import PluginHost
from headworks.testing import SchedulerContract
from headworks_lab.benchmarks.schedulers.partitioners import keyed

FOLDER = Path(__file__).parents[2] / "examples" / "schedulers"
FEW = {"annealing": {"steps": 50}, "metis": {}, "policy_search": {"rounds": 2, "drawn": 3, "best": 1}}
"""Options of each with which it takes little time."""


@pytest.fixture(scope="module")
def strangers():
    host = PluginHost.load(["even"])
    for name in FEW:
        host = host.with_plugin(name, runpy.run_path(str(FOLDER / f"{name}.py"))[name])
    return host


class Example(SchedulerContract):
    @pytest.fixture
    def host(self, strangers):
        return strangers

    @pytest.fixture
    def scheduler_options(self, scheduler_name):
        return FEW[scheduler_name]


class TestAnnealing(Example):
    @pytest.fixture
    def scheduler_name(self):
        return "annealing"


class TestMetis(Example):
    @pytest.fixture
    def scheduler_name(self):
        return "metis"


class TestPolicySearch(Example):
    @pytest.fixture
    def scheduler_name(self):
        return "policy_search"


def test_a_class_of_some_twenty_lines_is_each_of_them():
    assert sorted(file.stem for file in FOLDER.glob("*.py")) == sorted(FEW)
    for name in FEW:
        lines = (FOLDER / f"{name}.py").read_text().splitlines()
        made = {each.name: each for each in ast.parse("\n".join(lines)).body if isinstance(each, ast.ClassDef)}
        scheduler = made[name.title().replace("_", "")]
        assert sum(bool(line.strip()) for line in lines[scheduler.lineno - 1 : scheduler.end_lineno]) <= 22


@pytest.mark.parametrize("name", FEW)
def test_each_places_all_with_less_traffic_than_in_turn(strangers, name):
    asked = keyed(80, 8, 1)
    even, own = (strangers.schedule(each, asked) for each in ("even", name))
    assert own.status == "ok", own.reasons
    assert own.scores.inter_node < even.scores.inter_node


def test_metis_keeps_together_what_exchanges_most(strangers):
    """Its own partition has some 40 % between nodes where tasks in turn have nearly all."""
    assert strangers.schedule("metis", keyed(1_000, 20, 1)).scores.share < 0.6

"""`plugins`, `workloads`, `schema` and `doctor`: what there is."""

from __future__ import annotations

import json
from pathlib import Path

import attrs
import pytest
from click.testing import CliRunner

import headworks_schemas
from headworks.cli.main import headworks
from headworks.hooks import Description, hookimpl
from headworks.model import Workload
from headworks.plugins.host import PluginHost
from headworks.problem import Problem
from small_requests import word_count

SCHEMAS = Path(__file__).parents[3] / "schemas" / "headworks_schemas" / "v1"


class Paper:
    """A plugin with a workload."""

    @hookimpl
    def headworks_describe(self):
        return Description(summary="A paper.", capabilities=frozenset({"total"}))

    @hookimpl
    def headworks_workloads(self):
        return [Workload(name="words", summary="Count words.", build=word_count)]


@pytest.fixture
def paper(monkeypatch):
    host = PluginHost.load().with_plugin("paper", Paper())
    monkeypatch.setattr(PluginHost, "load", classmethod(lambda cls, names=None: host))


def invoke(*words):
    return CliRunner().invoke(headworks, list(words))


def test_plugins_are_listed_with_roles_options_and_workloads(paper):
    data = {each["name"]: each for each in json.loads(invoke("plugins", "--json").stdout)}
    assert data["paper"]["workloads"] == ["words"]
    assert data["even"]["roles"] == ["scheduler"]
    assert data["even"]["options"]["rebalance"] is False
    assert "paper" in invoke("plugins").stdout


@attrs.frozen
class Needing:
    """Options of which one has to be given."""

    hours: int
    share: float = 0.5


class Asking:
    """A plugin that needs an option."""

    @hookimpl
    def headworks_describe(self):
        return Description(summary="Asks.", options=Needing)


def test_an_option_that_has_to_be_given_is_listed_without_a_default(monkeypatch):
    host = PluginHost.load().with_plugin("asking", Asking())
    monkeypatch.setattr("headworks.cli.commands.plugins.plugins", lambda: host)
    (line,) = [each for each in invoke("plugins").stdout.splitlines() if each.startswith(" asking ")]
    assert " hours share=0.5 " in line


def test_a_table_begins_on_the_first_line_and_its_lines_end_with_what_they_say():
    lines = invoke("plugins").stdout.splitlines()
    assert lines[0].split() == ["plugin", "is", "summary", "options", "workloads", "from"]
    assert [line for line in lines if line != line.rstrip()] == []


def test_workloads_are_listed_as_they_are_typed(paper):
    assert json.loads(invoke("workloads", "paper", "--json").stdout) == [
        {"name": "paper:words", "summary": "Count words."}
    ]
    every = {each["name"] for each in json.loads(invoke("workloads", "--json").stdout)}
    assert {"paper:words", "dstorm:linear"} <= every
    assert "paper:words" in invoke("workloads").stdout


def test_the_options_of_one_plugin_are_shown_with_what_they_take():
    data = {each["name"]: each for each in json.loads(invoke("plugins", "optimal", "--json").stdout)}
    assert data["objective"] == {
        "name": "objective",
        "takes": "auto | load | traffic | throughput",
        "default": "auto",
        "required": False,
    }
    assert "auto | load | traffic | throughput" in invoke("plugins", "optimal").stdout
    assert "there is no plugin 'optimol', did you mean optimal?" in str(invoke("plugins", "optimol").exception)


def test_a_workload_is_planned_by_its_name(paper):
    data = json.loads(invoke("plan", "paper:words", "-s", "even", "--json").stdout)
    assert set(data["assignment"]) == set(Problem.of(word_count()).task_ids)


def test_schemas_are_named_printed_and_written(tmp_path):
    names = list(headworks_schemas.names())
    assert sorted(names) == sorted(path.stem for path in SCHEMAS.glob("*.json"))
    assert {"request", "plan", "observation", "trigger"} <= set(names)
    assert invoke("schema").stdout.split() == names
    assert json.loads(invoke("schema", "--json").stdout) == names
    for name in names:
        assert json.loads(invoke("schema", name).stdout) == json.loads(headworks_schemas.read(name))
    done = invoke("schema", "-O", str(tmp_path / "new"))
    assert (done.exit_code, done.stdout) == (0, "")
    assert {each.name: each.read_text() for each in (tmp_path / "new").iterdir()} == {
        f"{name}.json": headworks_schemas.read(name) for name in names
    }
    assert invoke("schema", "poem").exit_code == 2


def test_the_doctor_answers_in_json_and_fails_for_what_is_broken(monkeypatch):
    done = invoke("doctor", "--json")
    findings = json.loads(done.stdout)
    assert done.exit_code == (3 if any(each["status"] == "broken" for each in findings) else 0)
    assert "Python" in {each["subject"] for each in findings}

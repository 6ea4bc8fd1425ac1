from __future__ import annotations

import json

import attrs
import pytest
from click.testing import CliRunner

from headworks import plan
from headworks.cli.main import headworks
from headworks.control.journal import Round
from headworks.documents import unstructure
from headworks.errors import DocumentError, PluginError
from small_requests import component, node, request, topology


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A journal of two rounds on the simulated engine; the first moves tasks."""
    found = tmp_path_factory.mktemp("journal") / "rounds.jsonl"
    words = ("--engine", "sim", "-s", "dstorm", "--rounds", "2", "--replan", "--window", "2", "--journal", str(found))
    done = CliRunner().invoke(headworks, ["run", *words, "dstorm:linear"])
    assert done.exit_code == 0, done.output
    return found


def invoke(*words):
    return CliRunner().invoke(headworks, ["journal", *map(str, words)])


def data(*words):
    return json.loads(invoke(*words, "--json").stdout)


def test_rounds_are_listed_and_one_of_them_is_shown_with_its_plan(place):
    done = invoke("show", place)
    assert (done.exit_code, done.stderr) == (0, "")
    assert "2 rounds" in done.stdout
    assert "16 of 16 tasks run" in done.stdout
    assert "traffic between nodes" in invoke("show", place, "-n", 1).stdout
    first, second = data("show", place)
    assert (first["record"], first["outcome"], second["record"]) == (1, "executed", 2)
    assert first["plan"]["provenance"]["scheduler"] == "dstorm"


def test_hosts_and_names_stand_for_ids_that_an_engine_made(tmp_path):
    supervisor = attrs.evolve(node("99a0e12d-h1"), host="h1")
    asked = request([supervisor], [attrs.evolve(topology("words-1-1795886106", component("c")), name="words")])
    done = Round(
        number=1, outcome="executed", message="words-1-1795886106 runs", request=asked, plan=plan(asked, "even")
    )
    (tmp_path / "rounds").write_text(json.dumps(unstructure(done)) + "\n")
    shown = invoke("show", tmp_path / "rounds", "-n", 1).stdout
    assert "words runs" in shown
    assert " words/c " in shown
    assert "99a0e12d" not in shown


def test_every_decision_is_made_again(place):
    done = invoke("replay", place)
    assert done.exit_code == 0
    assert "2 of 2 decisions are the same, byte by byte" in done.stdout
    assert [each["verdict"] for each in data("replay", place, "-n", 2)] == ["same"]


def test_a_decision_that_differs_is_a_finding(place, tmp_path):
    record = json.loads(place.read_text().splitlines()[0])
    record["plan"]["explanation"] = "changed"
    (tmp_path / "changed.jsonl").write_text(json.dumps(record) + "\n")
    done = invoke("replay", tmp_path / "changed.jsonl")
    assert done.exit_code == 1
    assert "0 of 1 decisions" in done.stdout
    assert "explanation" in done.stdout


def test_another_scheduler_is_compared_round_by_round(place):
    done = invoke("diff", place, "-s", "even")
    assert done.exit_code == 0
    assert "plans differ" in done.stdout
    first, _ = data("diff", place, "-s", "even")
    assert (first["recorded"]["provenance"]["scheduler"], first["other"]["provenance"]["scheduler"]) == (
        "dstorm",
        "even",
    )
    assert first["elsewhere"] > 0
    assert [each["elsewhere"] for each in data("diff", place, "-s", "dstorm")] == [0, 0]


def test_wrong_names_and_files_are_told(place, tmp_path):
    assert isinstance(invoke("diff", place, "-s", "nobody").exception, PluginError)
    (tmp_path / "bad.jsonl").write_text('{"number": 1}\n')
    error = invoke("show", tmp_path / "bad.jsonl").exception
    assert isinstance(error, DocumentError)
    assert str(error) == f"this is not a round: the key 'outcome' is missing (record 1), in {tmp_path / 'bad.jsonl'}"
    assert invoke("show", tmp_path / "none.jsonl").exit_code == 2

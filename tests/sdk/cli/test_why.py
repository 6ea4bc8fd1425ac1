from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

import headworks
from headworks.cli.main import headworks as commands
from headworks.documents import unstructure, write
from headworks.errors import DocumentError
from small_requests import component, node, request, topology, word_count


@pytest.fixture
def place(tmp_path):
    write(tmp_path / "request.json", word_count())
    return tmp_path / "request.json"


def invoke(*words):
    return CliRunner().invoke(commands, ["why", *map(str, words)])


def test_a_person_reads_a_row_for_each_node_and_a_sentence(place):
    done = invoke(place, "words/spout/0", "-s", "even")
    assert (done.exit_code, done.stderr) == (0, "")
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith((" a ", " b "))]
    assert {each[0]: each[1] for each in rows}.keys() == {"a", "b"}
    assert "here" in {each[1] for each in rows}
    assert "words/spout/0 is on " in done.stdout


def test_a_program_reads_the_same_figures_as_from_python(place):
    done = invoke(place, "words/spout/0", "-s", "even", "--json")
    said = headworks.why(place, "words/spout/0", "even")
    assert json.loads(done.stdout) == unstructure(said)
    assert [each["node"] for each in json.loads(done.stdout)["alternatives"]] in (["a", "b"], ["b", "a"])


def test_a_plan_that_is_infeasible_is_explained_and_is_exit_code_1(tmp_path):
    write(tmp_path / "r.json", request([node("a")], [topology("t", component("s", 3, 50.0))]))
    done = invoke(tmp_path / "r.json", "t/s/2", "-s", "even")
    assert done.exit_code == 1
    assert "cpu" in done.stdout
    assert "infeasible: " in done.stderr


def test_an_unknown_task_is_wrong_use(place):
    done = invoke(place, "words/split", "-s", "even")
    assert isinstance(done.exception, DocumentError)
    assert done.exception.exit_code == 2
    assert str(done.exception) == "'words/split' is no task but has 2: words/split/0 to words/split/1"

from __future__ import annotations

import json

import attrs
import pytest
from click.testing import CliRunner

import headworks
from headworks.cli.live import offered
from headworks.cli.main import headworks as commands
from headworks.control.journal import FileJournal, Round
from headworks.documents import unstructure, write
from headworks.errors import DocumentError, EngineError
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
    assert str(done.exception) == "'words/split' is not a task but has 2: words/split/0 to words/split/1"


@pytest.fixture
def decided(tmp_path):
    """A journal: a round that planned, one that planned nothing, and one in which what runs was seen to be worse."""
    asked = word_count()
    plan = headworks.plan(asked, "even")
    running = attrs.evolve(asked, assignment=plan.assignment)
    rounds = (
        Round(number=1, outcome="executed", message="5 of 5 tasks run where asked", request=asked, plan=plan, at="now"),
        Round(number=2, outcome="quiet", message="all is well"),
        Round(number=3, outcome="undone", message="latency went up", request=running),
    )
    journal = FileJournal(tmp_path / "rounds.jsonl")
    for each in rounds:
        journal.append(unstructure(each))
    return journal.path, rounds


def said(done):
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_a_request_a_plan_in_a_file_a_round_and_a_live_engine_have_one_answer(place, decided, tmp_path, runtime):
    file, (first, *_) = decided
    write(tmp_path / "plan.json", first.plan)
    answer = unstructure(headworks.why(first.request, "words/split/0", plan=first.plan))
    assert said(invoke(place, "words/split/0", "-s", "even", "--json")) == answer
    assert said(invoke(place, "words/split/0", "--plan", tmp_path / "plan.json", "--json")) == answer
    assert said(invoke("words/split/0", "--journal", file, "-n", 1, "--json")) == answer
    with offered("sim", lambda: first):
        done = invoke("words/split/0", "--engine", "sim", "--json")
    assert said(done) == answer
    assert done.stderr == "sim, round 1 of now: executed: 5 of 5 tasks run where asked\n"


def test_the_newest_round_with_a_request_is_asked_about_and_without_a_plan_it_is_about_what_runs(decided):
    file, (*_, last) = decided
    done = invoke("words/split/0", "--journal", file)
    assert done.exit_code == 0
    assert f"record 3 of {file}, round 3: undone: latency went up; nothing was planned" in done.stderr
    assert "words/split/0, as it is" in done.stdout
    answer = unstructure(headworks.why(last.request, "words/split/0"))
    assert said(invoke("words/split/0", "--journal", file, "--json")) == answer


def test_nothing_is_planned_again_for_a_decision(decided, place, tmp_path, monkeypatch):
    file, (first, *_) = decided
    write(tmp_path / "plan.json", first.plan)
    monkeypatch.setattr("headworks.plugins.host.PluginHost.schedule", None)
    assert invoke("words/split/0", "--journal", file).exit_code == 0
    assert invoke(place, "words/split/0", "--plan", tmp_path / "plan.json").exit_code == 0


def test_one_node_is_asked_about(decided):
    file, (first, *_) = decided
    (here,) = {first.plan.assignment["words/split/0"].node}
    (other,) = {"a", "b"} - {here}
    found = said(invoke("words/split/0", "--journal", file, "-n", 1, "--not", other, "--json"))
    assert [each["node"] for each in found["alternatives"]] == [here, other]
    assert f"; {other} could take it" in found["sentence"]


WRONG = {
    "no record": (("words/split/0", "--journal", "FILE", "-n", 4), "has 3 records, and no record 4"),
    "no request": (("words/split/0", "--journal", "FILE", "-n", 2), "the round was quiet, and no plan was asked for"),
    "a scheduler": (("words/split/0", "--journal", "FILE", "-s", "even"), "--scheduler has no effect on a plan"),
    "a limit": (("words/split/0", "--journal", "FILE", "--fill", 0.5), "--fill has no effect on a decision"),
    "a request": (("R", "words/split/0", "--journal", "FILE"), "2 words are given, and expected are TASK alone"),
    "no task": (("words/split/0",), "1 words are given, and expected are REQUEST and TASK"),
    "two decisions": (("words/split/0", "--journal", "FILE", "--engine", "sim"), "--journal and --engine name two"),
    "a record of nothing": (("R", "words/split/0", "-n", 1), "-n is the record of a journal"),
    "no engine": (("words/split/0", "--engine", "sim"), "no process of this user runs the control loop on sim"),
}


@pytest.mark.parametrize(("words", "message"), WRONG.values(), ids=WRONG)
def test_wrong_words_are_told(decided, runtime, words, message):
    done = invoke(*(decided[0] if word == "FILE" else word for word in words))
    shown = done.stderr if done.exit_code == 2 and isinstance(done.exception, SystemExit) else str(done.exception)
    assert message in shown
    if isinstance(done.exception, DocumentError | EngineError):
        assert done.exception.exit_code == (4 if "engine" in words or "--engine" in words else 2)


def test_a_plan_for_another_request_is_refused(place, tmp_path):
    write(tmp_path / "plan.json", headworks.plan(attrs.evolve(word_count(), seed=7), "even"))
    error = invoke(place, "words/split/0", "--plan", tmp_path / "plan.json").exception
    assert isinstance(error, DocumentError)
    assert "is a plan for another request" in str(error)
    done = invoke(place, "words/split/0", "--plan", tmp_path / "plan.json", "--seed", 7)
    assert done.exit_code == 0


def test_a_journal_of_rounds_that_planned_nothing_says_so(tmp_path):
    journal = FileJournal(tmp_path / "rounds.jsonl")
    journal.append(unstructure(Round(number=1, outcome="quiet")))
    error = invoke("words/split/0", "--journal", journal.path).exception
    assert "has 1 records, and none of a round in which a plan was asked for" in str(error)

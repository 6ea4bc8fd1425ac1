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
from headworks.errors import DocumentError
from headworks.model import Constraint
from headworks.model.topology import ConstraintKind
from small_requests import word_count

RULE = Constraint(kind=ConstraintKind.APART, components=("split",))


@pytest.fixture
def asked():
    """A word count that runs, whose splitters are apart."""
    found = word_count()
    parts = tuple(attrs.evolve(each, constraints=(RULE,)) for each in found.topologies)
    found = attrs.evolve(found, topologies=parts)
    return attrs.evolve(found, assignment=headworks.plan(found, "even").assignment)


@pytest.fixture
def place(tmp_path, asked):
    write(tmp_path / "request.json", asked)
    return tmp_path / "request.json"


def invoke(*words):
    return CliRunner().invoke(commands, ["what-if", *map(str, words)])


def said(done):
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_a_person_reads_one_table(place):
    done = invoke(place, "--load", 0.5)
    assert done.exit_code == 0, done.output
    assert "by dstorm" in done.stdout
    head = next(line for line in done.stdout.splitlines() if line.split()[:1] == ["figure"])
    assert head.split() == ["figure", "present", "planned", "present", "predicted", "planned", "predicted"]
    assert "traffic between nodes" in done.stdout


def test_changes_arrive(place):
    words = ("--lose", "b", "--add", "a=2", "--drain", "a", "--load", 0.5, "--without", str(RULE))
    found = said(invoke(place, *words, "-s", "even", "--json"))
    assert found["change"] == {
        "drain": ["a"],
        "lose": ["b"],
        "add": [["a", 2]],
        "load": 0.5,
        "without": ["split apart on every node"],
    }
    assert found["scheduler"] == "even"
    assert {slot.partition(":")[0] for slot in found["plan"]["assignment"].values()} <= {"new-a-1", "new-a-2"}
    assert found["after"]["completed"] == pytest.approx(50.0)


def test_one_node_alone_cannot_keep_splitters_apart_and_that_is_exit_code_1(place):
    done = invoke(place, "--lose", "b")
    assert done.exit_code == 1
    assert "infeasible: " in done.stderr


def test_a_round_and_a_live_engine_are_planned_again_by_their_scheduler_and_options(asked, tmp_path, runtime):
    plan = headworks.plan(asked, "dstorm", options={"beta": 0.5})
    done = Round(number=1, outcome="executed", message="5 of 5", request=asked, plan=plan)
    journal = FileJournal(tmp_path / "rounds.jsonl")
    journal.append(unstructure(done))
    recorded = invoke("--journal", journal.path, "--json")
    found = said(recorded)
    assert found["plan"]["provenance"]["options"]["beta"] == 0.5
    assert "round 1: executed: 5 of 5" in recorded.stderr
    with offered("storm", lambda: done):
        assert said(invoke("--engine", "storm", "--json")) == found
        assert said(invoke("--engine", "storm", "-s", "even", "--json"))["scheduler"] == "even"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "name a REQUEST, or a decision by --journal or --engine"),
        (("R", "--add", "a=0"), "'a=0' is not a NAME=COUNT"),
        (("R", "--load", "0"), "0"),
        (("R", "--load", "inf"), "inf is not a finite number"),
    ],
)
def test_wrong_words_are_told(words, message):
    done = invoke(*words)
    assert done.exit_code == 2
    assert message in done.stderr


def test_what_is_not_there_is_refused(place):
    error = invoke(place, "--lose", "c").exception
    assert isinstance(error, DocumentError)
    assert str(error) == "there is no node 'c'; there are: a, b"

"""`--config headworks.toml`: what is not understood in it is refused, by name and before anything is done."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from headworks.cli.main import headworks
from headworks.cli.settings import read_toml
from headworks.documents import dumps, write
from headworks.errors import DocumentError
from plugin_folder import install
from shell import called
from shell import headworks as run
from small_requests import word_count

FOUND = "headworks.toml: /run/windw: unknown key, did you mean window?"
DOCS = Path(__file__).parents[3] / "docs" / "commands.md"
REFUSED = {
    "unknown table": (
        "[rum]",
        "/rum",
        "unknown table, did you mean run? there are: compare, completion, conform, ",
    ),
    "a command that has no such option": ("[schema]\nseed = 1", "/schema/seed", "unknown key; there are: json, output"),
    "a command of a group, likewise": ("[spark.up]\nseed = 1", "/spark/up/seed", "unknown key"),
    "unknown command of a group": (
        "[serve.strom]",
        "/serve/strom",
        "unknown table, did you mean storm?",
    ),
    "unknown key": (
        "[plan]\nschedular = 'even'",
        "/plan/schedular",
        "unknown key, did you mean scheduler?",
    ),
    "unknown key of another command": (
        "[serve.storm]\nendpont = 'x'",
        "/serve/storm/endpont",
        "did you mean endpoint?",
    ),
    "a setting of another command": ("[plan]\nwindow = 1", "/plan/window", "unknown key"),
    "the file itself": ("[plan]\nconfig = 'x'", "/plan/config", "unknown key"),
    "no table": ("plan = 5", "/plan", "is not a table"),
    "no table in a group": ("[serve]\nstorm = 5", "/serve/storm", "is not a table"),
    "key at the top": ("deadline = 5", "/deadline", "unknown table"),
    "too small": ("[plan]\ndeadline = 0", "/plan/deadline", "0 is not a number, more than 0"),
    "not a number": ("[plan]\nmax-moves = 'few'", "/plan/max-moves", "'few' is not a whole number or none, at least 0"),
    "infinite": ("[plan]\ndeadline = inf", "/plan/deadline", "inf is not a number"),
    "a list": ("[plan]\nseed = [1]", "/plan/seed", "[1] does not fit"),
    "a word": ("[plan]\nseed = 'x'", "/plan/seed", "'x' is not a valid integer"),
    "a truth": ("[plan]\njson = 'perhaps'", "/plan/json", "'perhaps' is not a valid boolean"),
    "options that are none": ("[plan]\noptions = ['beta=0']", "/plan/options", "is not a table of options"),
    "not TOML": ("[plan", "", "headworks.toml cannot be read: "),
}


@pytest.fixture
def invoke(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "request.json", word_count())

    def called(text, *words):
        (tmp_path / "headworks.toml").write_text(text)
        return CliRunner().invoke(headworks, ["plan", "--config", "headworks.toml", "request.json", *words])

    return called


@pytest.mark.parametrize(("text", "where", "words"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_understood_is_refused_at_its_place(invoke, text, where, words):
    done = invoke(text)
    assert isinstance(done.exception, DocumentError), done.output
    assert done.exception.pointer == where
    assert words in done.exception.message
    assert "headworks.toml" in str(done.exception)
    assert done.stdout == ""


def test_tables_of_other_commands_may_be_there(invoke):
    others = "[serve.storm]\nmin_gain = 0.1\ncollector = 'a:1'\n[run]\nelastic = '1:2'\n[compare]\n"
    assert invoke(f"[plan]\nscheduler = 'even'\n{others}").exit_code == 0


@pytest.mark.parametrize("name", ["max-moves", "max_moves"])
def test_a_name_may_be_written_either_way(invoke, name):
    done = invoke(f"[plan]\nscheduler = 'even'\n{name} = -1")
    assert done.exception.pointer == f"/plan/{name}"


def test_a_file_that_is_not_there_is_wrong_use():
    done = CliRunner().invoke(headworks, ["plan", "--config", "missing.toml", "request.json"])
    assert done.exit_code == 2
    assert "missing.toml" in done.stderr


def test_an_option_of_the_file_that_the_scheduler_does_not_have_is_refused(invoke):
    done = invoke("[plan]\nscheduler = 'even'\n[plan.options]\nspread = true")
    assert "even: no option 'spread'" in str(done.exception)


def test_the_table_of_a_command_that_is_set_aside_is_passed_over(tmp_path):
    install(tmp_path, "broken-commands", {}, commands="acme = no_such_module:command")
    (tmp_path / "headworks.toml").write_text("[plan]\nscheduler = 'even'\n[acme]\nsomething = 1\n")
    words = ("plan", "-", "--config", str(tmp_path / "headworks.toml"))
    done = run(*words, stdin=dumps(word_count()), PYTHONPATH=str(tmp_path))
    assert done.returncode == 0, done.stderr


def test_the_file_of_the_documentation_is_understood(invoke):
    (example,) = re.findall(r"^```toml\n(.*?)^```", DOCS.read_text(), re.MULTILINE | re.DOTALL)
    assert invoke(example, "-s", "even").exit_code == 0
    done = invoke(example.replace("[run]", "[run]\nwindw = 1"))
    assert FOUND in str(done.exception)


def test_the_file_of_the_folder_or_of_one_above_holds_for_every_command(tmp_path, monkeypatch):
    (tmp_path / "inner").mkdir()
    monkeypatch.chdir(tmp_path / "inner")
    write(tmp_path / "request.json", word_count())
    (tmp_path / "headworks.toml").write_text(
        "[plan]\nscheduler = 'even'\n[why]\nscheduler = 'otd'\n[doctor]\njson = true\n"
    )
    done = CliRunner().invoke(headworks, ["plan", "../request.json", "--json"])
    assert json.loads(done.stdout)["provenance"]["scheduler"] == "even"
    assert isinstance(json.loads(CliRunner().invoke(headworks, ["doctor"]).stdout), list)
    done = CliRunner().invoke(headworks, ["plan", "../request.json", "--json", "-s", "isolation"])
    assert json.loads(done.stdout)["provenance"]["scheduler"] == "isolation"
    (tmp_path / "inner" / "headworks.toml").write_text("[plan]\nscheduler = 'dstorm'\n")
    done = CliRunner().invoke(headworks, ["plan", "../request.json", "--json"])
    assert json.loads(done.stdout)["provenance"]["scheduler"] == "dstorm"
    (tmp_path / "other.toml").write_text("[plan]\nscheduler = 'isolation'\n")
    done = CliRunner().invoke(headworks, ["plan", "../request.json", "--json", "--config", "../other.toml"])
    assert json.loads(done.stdout)["provenance"]["scheduler"] == "isolation"
    (tmp_path / "inner" / "headworks.toml").write_text("[pln]\n")
    done = CliRunner().invoke(headworks, ["plan", "../request.json"])
    assert isinstance(done.exception, DocumentError)
    assert (done.exception.pointer, done.exception.source) == ("/pln", str(tmp_path / "inner" / "headworks.toml"))


def test_what_the_file_switches_on_the_command_line_switches_off(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "request.json", word_count())
    (tmp_path / "headworks.toml").write_text("[run]\nengine = 'sim'\nscheduler = 'even'\nshadow = true\nrounds = 1\n")
    for words, outcome in (((), "unchanged"), (("--no-shadow",), "executed")):
        done = called("run", *words, "--window", "1", "--json", "request.json")
        assert json.loads(done.stdout)["outcome"] == outcome, done.stderr


def test_options_of_the_file_reach_a_command_that_takes_any(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "headworks.toml").write_text("[conform.options]\nspread = true\n")
    done = CliRunner().invoke(headworks, ["conform", "even"])
    assert "even: no option 'spread'" in str(done.exception)


BROKEN = {"no TOML": ("[plan", "cannot be read"), "unknown key": ("[run]\nwindw = 1", "/run/windw: unknown key")}


@pytest.fixture(params=BROKEN)
def broken(request, tmp_path, monkeypatch):
    """What is wrong with the file of the working folder."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "request.json", word_count())
    text, reason = BROKEN[request.param]
    (tmp_path / "headworks.toml").write_text(text)
    return reason


@pytest.mark.parametrize("words", ["", "plan", "run", "serve", "serve storm", "spark up", "schema", "doctor"])
def test_a_broken_file_stops_no_help(broken, words):
    done = CliRunner().invoke(headworks, [*words.split(), "--help"])
    assert (done.exit_code, done.stdout.startswith(f"Usage: headworks {words}".strip())) == (0, True)
    assert (broken in done.stderr) == bool(words)


def test_the_doctor_says_what_is_wrong_with_a_broken_file(broken):
    done = CliRunner().invoke(headworks, ["doctor", "--json"])
    found = next(each for each in json.loads(done.stdout) if each["subject"] == "headworks.toml")
    assert (done.exit_code, found["status"], broken in found["detail"]) == (3, "broken", True)


@pytest.mark.parametrize("words", ["plan request.json", "plan", "schema", "run app.py", "serve storm", "spark status"])
def test_a_broken_file_is_refused_by_what_may_need_it(broken, words):
    done = CliRunner().invoke(headworks, words.split())
    assert isinstance(done.exception, DocumentError), done.output
    assert (broken in str(done.exception), done.stdout) == (True, "")


def test_a_file_that_is_named_stands_for_one_that_is_broken(broken, tmp_path):
    (tmp_path / "other.toml").write_text("[plan]\nscheduler = 'isolation'\n")
    done = CliRunner().invoke(headworks, ["plan", "request.json", "--json", "--config", "other.toml"])
    assert json.loads(done.stdout)["provenance"]["scheduler"] == "isolation"


@pytest.mark.parametrize(
    ("name", "content"), [("missing.toml", None), ("bad.toml", b"a = "), ("latin.toml", b"a = '\xe9'")]
)
def test_a_file_that_cannot_be_read_is_a_document_error(tmp_path, name, content):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(DocumentError, match=f"{name} cannot be read: "):
        read_toml(tmp_path / name)

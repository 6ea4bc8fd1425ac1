"""`--config headgate.toml`: what is not understood in it is refused, by name and before anything is done."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from headgate.cli.main import headgate
from headgate.documents import dumps, write
from headgate.errors import DocumentError
from plugin_folder import install
from shell import headgate as run
from small_requests import word_count

DOCS = Path(__file__).parents[3] / "docs" / "commands.md"
REFUSED = {
    "unknown table": (
        "[rum]",
        "/rum",
        "unknown table in headgate.toml, did you mean run? there are: compare, plan, run, serve",
    ),
    "a command without a table": ("[schema]", "/schema", "unknown table"),
    "a group without a table": ("[spark.up]", "/spark", "unknown table"),
    "unknown command of a group": (
        "[serve.strom]",
        "/serve/strom",
        "unknown table in headgate.toml, did you mean storm?",
    ),
    "unknown key": (
        "[plan]\nschedular = 'even'",
        "/plan/schedular",
        "unknown key in headgate.toml, did you mean scheduler?",
    ),
    "unknown key of another command": (
        "[serve.storm]\nendpont = 'x'",
        "/serve/storm/endpont",
        "did you mean endpoint?",
    ),
    "a setting of another command": ("[plan]\nwindow = 1", "/plan/window", "unknown key"),
    "the file itself": ("[plan]\nconfig = 'x'", "/plan/config", "unknown key"),
    "no table": ("plan = 5", "/plan", "is no table"),
    "no table in a group": ("[serve]\nstorm = 5", "/serve/storm", "is no table"),
    "key at the top": ("deadline = 5", "/deadline", "unknown table"),
    "too small": ("[plan]\ndeadline = 0", "/plan/deadline", "0 is not a number, more than 0 (in headgate.toml)"),
    "not a number": ("[plan]\nmax-moves = 'few'", "/plan/max-moves", "'few' is not a whole number or none, at least 0"),
    "infinite": ("[plan]\ndeadline = inf", "/plan/deadline", "inf is not a number"),
    "a list": ("[plan]\nseed = [1]", "/plan/seed", "[1] does not fit"),
    "a word": ("[plan]\nseed = 'x'", "/plan/seed", "'x' is not a valid integer"),
    "a truth": ("[plan]\njson = 'perhaps'", "/plan/json", "'perhaps' is not a valid boolean"),
    "options that are none": ("[plan]\noptions = ['beta=0']", "/plan/options", "is no table of options"),
    "not TOML": ("[plan", "", "headgate.toml cannot be read: "),
}


@pytest.fixture
def invoke(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "request.json", word_count())

    def called(text, *words):
        (tmp_path / "headgate.toml").write_text(text)
        return CliRunner().invoke(headgate, ["plan", "--config", "headgate.toml", "request.json", *words])

    return called


@pytest.mark.parametrize(("text", "where", "words"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_understood_is_refused_at_its_place(invoke, text, where, words):
    done = invoke(text)
    assert isinstance(done.exception, DocumentError), done.output
    assert done.exception.pointer == where
    assert words in done.exception.message
    assert done.stdout == ""


def test_tables_of_other_commands_may_be_there(invoke):
    others = "[serve.storm]\nmin_gain = 0.1\ncollector = 'a:1'\n[run]\nelastic = '1:2'\n[compare]\n"
    assert invoke(f"[plan]\nscheduler = 'even'\n{others}").exit_code == 0


@pytest.mark.parametrize("name", ["max-moves", "max_moves"])
def test_a_name_may_be_written_either_way(invoke, name):
    done = invoke(f"[plan]\nscheduler = 'even'\n{name} = -1")
    assert done.exception.pointer == f"/plan/{name}"


def test_a_file_that_is_not_there_is_wrong_use():
    done = CliRunner().invoke(headgate, ["plan", "--config", "missing.toml", "request.json"])
    assert done.exit_code == 2
    assert "missing.toml" in done.stderr


def test_an_option_of_the_file_that_the_scheduler_does_not_have_is_refused(invoke):
    done = invoke("[plan]\nscheduler = 'even'\n[plan.options]\nspread = true")
    assert "even: no option 'spread'" in str(done.exception)


def test_the_table_of_a_command_that_is_set_aside_is_passed_over(tmp_path):
    install(tmp_path, "broken-commands", {}, commands="acme = no_such_module:command")
    (tmp_path / "headgate.toml").write_text("[plan]\nscheduler = 'even'\n[acme]\nsomething = 1\n")
    words = ("plan", "-", "--config", str(tmp_path / "headgate.toml"))
    done = run(*words, stdin=dumps(word_count()), PYTHONPATH=str(tmp_path))
    assert done.returncode == 0, done.stderr


def test_the_file_of_the_documentation_is_understood(invoke):
    (example,) = re.findall(r"^```toml\n(.*?)^```", DOCS.read_text(), re.MULTILINE | re.DOTALL)
    assert invoke(example, "-s", "even").exit_code == 0
    done = invoke(example.replace("[run]", "[run]\nwindw = 1"))
    assert str(done.exception).startswith("/run/windw: unknown key in headgate.toml, did you mean window?")

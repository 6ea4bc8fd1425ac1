"""Messages: whoever wrote the names in them, they steer no terminal and fill no screen."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from headworks.cli.main import headworks
from headworks.documents import loads, read
from headworks.errors import DocumentError, UnknownPluginError, known_names, printable
from headworks.hooks import Description, hookimpl
from headworks.model import Request
from headworks.plugins.host import PluginHost
from headworks.testing import FirstFit

TITLE = "\x1b]0;pwned\x07"


@pytest.mark.parametrize("steers", ["\x1b", "\x07", "\r", "\x7f", "\x9b", "\u202e", "\u2066"])
def test_what_steers_a_terminal_is_written_as_an_escape(steers):
    assert printable(f"a{steers}b\n\tc") == f"a{steers!r}b\n\tc".replace("'", "")


@pytest.mark.parametrize(
    "document", [{TITLE: 1}, {"topologies": [{TITLE: 1}]}, {"assignment": {TITLE: "n:0"}}, {"seed": TITLE}]
)
def test_keys_and_values_of_a_document_are_shown_as_text(document):
    with pytest.raises(DocumentError) as caught:
        loads(json.dumps({"cluster": {"nodes": []}, "topologies": [], **document}), Request)
    assert "\x1b" not in str(caught.value)
    assert "pwned" in str(caught.value)


@pytest.mark.parametrize("document", ['{"%s": 1}', '{"seed": "%s"}', '{"cluster": {"nodes": [{"id": "\\n%s"}]}}'])
def test_a_long_key_or_value_is_cut(document):
    with pytest.raises(DocumentError) as caught:
        loads(document % ("x" * 100_000), Request)
    assert len(str(caught.value)) < 600


def test_what_plugins_raise_and_say_of_themselves_is_shown_as_text(monkeypatch):
    class Odd(FirstFit):
        @hookimpl
        def headworks_describe(self):
            return Description(summary=f"summary {TITLE}")

        @hookimpl
        def headworks_schedule(self, problem):
            raise RuntimeError(TITLE)

    host = PluginHost().with_plugin("odd", Odd())
    monkeypatch.setattr(PluginHost, "load", classmethod(lambda cls, names=None: host))
    listed = CliRunner().invoke(headworks, ["plugins"])
    assert "pwned" in listed.stdout
    planned = CliRunner().invoke(
        headworks, ["--traceback", "plan", "-", "-s", "odd"], input='{"cluster":{},"topologies":[]}'
    )
    assert "pwned" in planned.stderr
    assert "\x1b" not in listed.output + planned.output


def test_the_file_is_named(tmp_path):
    (tmp_path / "bad.json").write_text("[")
    with pytest.raises(DocumentError, match=r"bad\.json: this is not JSON") as caught:
        read(tmp_path / "bad.json", Request)
    assert caught.value.source == str(tmp_path / "bad.json")
    done = CliRunner().invoke(headworks, ["plan", "-"], input="")
    assert str(done.exception).startswith("standard input: this is not JSON")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["plna"], "No such command 'plna', did you mean plan?"),
        (["plan", "dstrom:linear"], "no plugin is named 'dstrom', did you mean dstorm?"),
        (["plan", "dstorm:linaer"], "did you mean linear?"),
        (["compare", "dstorm:linear", "-s", "evn"], "there is no scheduler 'evn', did you mean even?"),
        (["compare", "dstorm:linear", "-s", "sim"], "sim is not a scheduler; there are: dps"),
        (["run", "--engine", "sin", "x"], "there is no engine 'sin', did you mean sim?"),
        (["run", "--engine", "sim", "-s", "dstrom", "x"], "did you mean dstorm?"),
        (["simulate", "dstorm:linear", "-s", "dstrom"], "did you mean dstorm?"),
        (["conform", "dstrom"], "did you mean dstorm?"),
        (["reproduce", "dstrom"], "did you mean dstorm?"),
        (["schema", "requst"], "did you mean request?"),
        (["conform", "--explain", "monoton"], "did you mean monotone?"),
        (["plan", "dstorm:linear", "-o", "bta=1"], "did you mean beta?"),
    ],
)
def test_a_wrong_name_is_wrong_use_and_one_that_was_perhaps_meant_is_named(words, says):
    done = CliRunner().invoke(headworks, words)
    told = done.stderr + str(done.exception)
    assert says in told
    assert getattr(done.exception, "exit_code", done.exit_code) == 2


def test_names_of_any_length_are_compared():
    assert len(known_names("x" * 10_000_000, ["y" * 1000])) < 200
    with pytest.raises(UnknownPluginError) as caught:
        PluginHost().plugin("acme")
    assert caught.value.exit_code == 2

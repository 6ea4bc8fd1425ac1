from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import click
import pytest
from click.testing import CliRunner

from headgate.cli.main import BUILT_IN, Commands, headgate, main
from headgate.documents import dumps
from headgate.errors import DocumentError, EngineError, OptionError, PluginError
from shell import HEADGATE
from shell import headgate as run
from small_requests import word_count


def test_help_names_every_command():
    done = run("--help")
    assert done.returncode == 0
    assert all(f"\n  {name} " in done.stdout for name in BUILT_IN)
    assert done.stderr == ""


@pytest.mark.parametrize("name", BUILT_IN)
def test_each_command_says_what_it_does_and_takes_json(name):
    done = CliRunner().invoke(headgate, [name, "--help"])
    assert done.exit_code == 0
    assert "--json" in done.output


def test_help_imports_nothing_heavy():
    script = """
import sys
from headgate.cli.main import headgate
headgate.main(['--help'], standalone_mode=False)
heavy = {'numpy', 'rich', 'pyspark', 'py4j', 'pandas', 'jsonschema'}
print(sorted(heavy & set(sys.modules)), file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "[]"


def test_the_version_is_told():
    assert run("--version").stdout.startswith("headgate, version ")


@pytest.mark.parametrize("words", [["nonsense"], ["--nonsense"], ["plan"], ["plan", "--nonsense", "x"]])
def test_wrong_use_is_exit_code_2_and_a_message(words):
    done = run(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (DocumentError("/a", "x"), 2),
        (OptionError("x"), 2),
        (PluginError("x"), 3),
        (EngineError("x"), 4),
        (click.UsageError("x"), 2),
        (KeyboardInterrupt(), 130),
        (click.Abort(), 130),
    ],
)
def test_an_error_is_a_message_and_its_exit_code(monkeypatch, capsys, error, code):
    @click.command("fail")
    def fail():
        raise error

    monkeypatch.setattr(Commands, "_of_plugins", lambda self: {"fail": fail})
    monkeypatch.setattr(sys, "argv", ["headgate", "fail"])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == code
    printed = capsys.readouterr()
    assert printed.out.strip() == ""
    assert "Traceback" not in printed.err


def test_ctrl_c_ends_a_command_that_waits_without_a_traceback():
    with subprocess.Popen(
        [HEADGATE, "plan", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        time.sleep(2)
        os.kill(process.pid, signal.SIGINT)
        out, errors = process.communicate(timeout=30)
    assert (process.returncode, out) == (130, "")
    assert "interrupted" in errors
    assert "Traceback" not in errors


def test_a_reader_that_leaves_early_is_no_error():
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [HEADGATE, "plan", "-", "-s", "even"],
        input=dumps(word_count()),
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(writer)
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr


def test_a_plugin_whose_commands_cannot_be_had_stops_no_other_command(monkeypatch):
    from headgate.hooks import Description, hookimpl
    from headgate.host import PluginHost

    class Broken:
        @hookimpl
        def headgate_describe(self):
            return Description(summary="Break.")

        @hookimpl
        def headgate_commands(self):
            raise RuntimeError("no commands")

    host = PluginHost().with_plugin("broken", Broken())
    monkeypatch.setattr(PluginHost, "load", classmethod(lambda cls: host))
    assert CliRunner().invoke(headgate, ["--help"]).exit_code == 0

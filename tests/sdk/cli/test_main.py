from __future__ import annotations

import array
import errno
import fcntl
import json
import os
import signal
import subprocess
import sys
import termios
import time

import click
import pytest
from click.testing import CliRunner

from headworks.cli.main import BUILT_IN, SECTIONS, headworks, main
from headworks.documents import dumps
from headworks.errors import DocumentError, EngineError, OptionError, PluginError
from patience import PATIENCE
from plugin_folder import install
from shell import HEADWORKS, called
from small_requests import word_count


def test_help_names_every_command():
    done = called("--help")
    assert done.returncode == 0
    assert all(f"\n  {name} " in done.stdout for name in BUILT_IN)
    assert done.stderr == ""


def test_help_has_four_groups_and_whole_summaries():
    lines = called("--help").stdout.splitlines()
    assert [line for line in lines if line in ("Plan:", "Run:", "Extend:", "Operate:")] == [
        "Plan:",
        "Run:",
        "Extend:",
        "Operate:",
    ]
    text = "".join("".join(lines).split())
    for name in headworks.list_commands(click.Context(headworks)):
        first = (headworks.get_command(click.Context(headworks), name).help or "").partition("\n\n")[0]
        sentence = " ".join(first.split()).partition(". ")[0].rstrip(".")
        assert sentence.replace(" ", "") in text, name


def test_every_command_of_ours_has_its_group():
    placed = [name for names in SECTIONS.values() for name in names]
    assert sorted(placed) == headworks.list_commands(click.Context(headworks))


@pytest.mark.parametrize("name", BUILT_IN)
def test_each_command_says_what_it_does_and_takes_json(name):
    command = headworks.get_command(click.Context(headworks), name)
    for inner in ([each] for each in command.commands) if isinstance(command, click.Group) else ([],):
        done = CliRunner().invoke(headworks, [name, *inner, "--help"])
        assert done.exit_code == 0
        assert "--json" in done.output


def test_help_imports_nothing_heavy():
    script = """
import sys
from headworks.cli.main import headworks
headworks.main(['--help'], standalone_mode=False)
heavy = {'numpy', 'rich', 'pyspark', 'py4j', 'pandas', 'jsonschema'}
print(sorted(heavy & set(sys.modules)), file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "[]"


def test_the_version_is_told():
    assert called("--version").stdout.startswith("headworks, version ")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["storm", "jar", "-o", "x", "a.jar"], "No such option '-o'. Did you mean '-O'?"),
        (["pipeline", "run", "-o", "x"], "No such option '-o'. Did you mean '-O'?"),
        (["schema", "-o", "x"], "No such option '-o'. Did you mean '-O'?"),
        (["demo", "storm", "-o", "x"], "No such option '-o'. Did you mean '-O'?"),
        (["run", "-O", "x"], "No such option '-O'. Did you mean '-o'?"),
        (["plan", "-o", "p.json", "dstorm:linear"], "'p.json' is not NAME=VALUE; a file is written by -O"),
        (["compare", "-o", "p.json", "dstorm:linear"], "'p.json' is not NAME=VALUE\n"),
        (["plugins", "-o", "x"], "'x' is not 'wide'.\n"),
    ],
)
def test_who_writes_the_one_o_for_the_other_is_told(words, says):
    done = called(*words)
    assert done.returncode == 2
    assert says in done.stderr


@pytest.mark.parametrize("words", [["nonsense"], ["--nonsense"], ["plan"], ["plan", "--nonsense", "x"]])
def test_wrong_use_is_exit_code_2_and_a_message(words):
    done = called(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (DocumentError("/a", "x"), 2),
        (OptionError("x"), 2),
        (PluginError("x"), 3),
        (EngineError("x"), 4),
        (PermissionError(errno.EACCES, "Permission denied", "/there"), 2),
        (click.UsageError("x"), 2),
        (KeyboardInterrupt(), 130),
        (click.Abort(), 130),
    ],
)
def test_an_error_is_a_message_and_its_exit_code(monkeypatch, capsys, error, code):
    @click.command("fail")
    def fail():
        raise error

    monkeypatch.setitem(headworks.commands, "fail", fail)
    monkeypatch.setattr(sys, "argv", ["headworks", "fail"])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == code
    printed = capsys.readouterr()
    assert printed.out.strip() == ""
    assert "Traceback" not in printed.err


@pytest.mark.parametrize(("words", "told"), [((), 0), (("-vv",), 1)])
def test_what_the_system_refuses_is_named_and_its_place_is_told_who_asks(monkeypatch, capsys, words, told):
    @click.command("fail")
    def fail():
        raise OSError(errno.ENOSPC, "No space left on device", "/there")

    monkeypatch.setitem(headworks.commands, "fail", fail)
    monkeypatch.setattr(sys, "argv", ["headworks", *words, "fail"])
    with pytest.raises(SystemExit):
        main()
    printed = capsys.readouterr().err
    assert printed.endswith("headworks: /there: No space left on device (headworks -vv shows where)\n")
    assert printed.count("Traceback") == told


def test_a_folder_that_is_there_no_more_is_named(tmp_path):
    gone = ("sh", "-c", f"mkdir gone && cd gone && rmdir ../gone && exec {HEADWORKS} workloads")
    done = subprocess.run(gone, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.endswith("this folder is not there any more (No such file or directory): go to another one\n")
    assert "Traceback" not in done.stderr


def unread(pipe):
    """Bytes in a pipe that the other end has not read yet."""
    left = array.array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, left)
    return left[0]


def test_ctrl_c_ends_a_command_that_waits_without_a_traceback():
    with subprocess.Popen(
        [HEADWORKS, "plan", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        process.stdin.write("{")
        process.stdin.flush()
        while unread(process.stdin):
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGINT)
        out, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (130, "")
    assert "interrupted" in errors
    assert "Traceback" not in errors


def test_an_error_in_the_place_of_ctrl_c_is_no_traceback():
    """py4j has one for a call that is cut off."""
    script = """
import os, signal, sys
import click
from headworks.cli import main as cli

@click.command("fail")
def command():
    try:
        os.kill(os.getpid(), signal.SIGINT)
    except KeyboardInterrupt:
        raise AttributeError("shutdown_socket")

cli.BUILT_IN["fail"] = "__main__"
sys.argv = ["headworks", "fail"]
cli.main()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "interrupted\n")


def test_a_reader_that_leaves_early_is_no_error():
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [HEADWORKS, "plan", "-", "-s", "even"],
        input=dumps(word_count()),
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(writer)
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr


COMMAND = """
import click

@click.group()
def plugin():
    "Do something."
"""


def test_commands_of_plugins_are_imported_when_they_are_typed(tmp_path, monkeypatch):
    named = "acme = strange_acme:plugin\nacme.more = strange_more:plugin\nother = strange_other:plugin"
    install(tmp_path, "strange", {"acme": COMMAND, "more": COMMAND, "other": COMMAND}, commands=named)
    monkeypatch.syspath_prepend(tmp_path)
    done = CliRunner().invoke(headworks, ["acme", "--help"])
    assert done.exit_code == 0
    assert "more  Do something." in done.output
    assert "strange_other" not in sys.modules
    assert "  other " in CliRunner().invoke(headworks, ["--help"]).output


BROKEN = {
    "raising": ("raise RuntimeError('no licence')", "cannot be imported: RuntimeError: no licence"),
    "number": ("plugin = 3", "is of type int, not a click command"),
    "plan": (COMMAND, "headworks has a command of that name already"),
}


def test_a_command_that_cannot_be_had_stops_no_other_and_says_why(tmp_path, monkeypatch):
    named = "\n".join(f"{name} = strange_{name}:plugin" for name in BROKEN)
    install(tmp_path, "strange", {name: source for name, (source, _) in BROKEN.items()}, commands=named)
    monkeypatch.syspath_prepend(tmp_path)
    listed = CliRunner().invoke(headworks, ["--help"])
    assert listed.exit_code == 0
    assert listed.output.count("Set aside: see `headworks doctor`.") == 2
    doctor = json.loads(CliRunner().invoke(headworks, ["doctor", "--json"]).stdout)
    for name, (_, reason) in BROKEN.items():
        found = next(each for each in doctor if each["subject"] == f"command {name}")
        assert (found["status"], reason in found["detail"]) == ("broken", True)
    done = CliRunner().invoke(headworks, ["raising", "--anything"])
    assert isinstance(done.exception, PluginError)
    assert "no licence (" in str(done.exception)
    assert "strange_raising.py:1); see `headworks doctor`" in str(done.exception)


def doctor_says(subject):
    doctor = json.loads(CliRunner().invoke(headworks, ["doctor", "--json"]).stdout)
    return next((each["status"], each["detail"]) for each in doctor if each["subject"] == subject)


def test_a_stranger_cannot_switch_off_a_built_in_command(tmp_path, monkeypatch):
    install(tmp_path, "strange", {"serve": COMMAND}, commands="serve = strange_serve:plugin")
    monkeypatch.syspath_prepend(tmp_path)
    done = CliRunner().invoke(headworks, ["serve", "storm", "--help"])
    assert (done.exit_code, "--endpoint" in done.output) == (0, True)
    assert "strange_serve" not in sys.modules
    status, detail = doctor_says("command serve")
    assert (status, "a built-in one has this name; give it another" in detail) == ("broken", True)


INSIDE = {
    "serve.storm": "headworks serve has a command of that name already",
    "demo.storm": "a built-in one has this name; give it another",
    "plan.more": "headworks plan takes no commands",
    "simulate.more": "headworks simulate takes no commands",
}


@pytest.mark.parametrize("words", INSIDE)
def test_a_stranger_cannot_switch_off_a_command_in_a_group(words, tmp_path, monkeypatch):
    name = words.replace(".", "_")
    install(tmp_path, "strange", {name: COMMAND}, commands=f"{words} = strange_{name}:plugin")
    monkeypatch.syspath_prepend(tmp_path)
    ours = CliRunner().invoke(headworks, [*words.removesuffix(".more").split("."), "--help"])
    assert (ours.exit_code, "Do something." in ours.output) == (0, False)
    assert f"strange_{name}" not in sys.modules
    status, detail = doctor_says(f"command {words}")
    assert (status, INSIDE[words] in detail) == ("broken", True)


def test_a_stranger_joins_a_built_in_group(tmp_path, monkeypatch):
    install(tmp_path, "strange", {"flink": COMMAND}, commands="serve.flink = strange_flink:plugin")
    monkeypatch.syspath_prepend(tmp_path)
    assert "Do something." in CliRunner().invoke(headworks, ["serve", "flink", "--help"]).output
    assert "--endpoint" in CliRunner().invoke(headworks, ["serve", "storm", "--help"]).output


def test_two_commands_of_one_name_are_both_set_aside(tmp_path, monkeypatch):
    for distribution in ("first", "second"):
        install(tmp_path, distribution, {"acme": COMMAND}, commands=f"acme = {distribution}_acme:plugin")
    monkeypatch.syspath_prepend(tmp_path)
    done = CliRunner().invoke(headworks, ["acme"])
    assert "2 distributions name 'acme'; uninstall all but one" in str(done.exception)


ALONE = """
import sys
from click.testing import CliRunner
from headworks.cli.main import headworks
done = CliRunner().invoke(headworks, sys.argv[1:])
assert done.exit_code == 0, done.output
shared = {'headworks', 'headworks_lab', 'headworks_local', 'headworks_schemas'}
packages = {name.split('.')[0] for name in sys.modules} - shared
print(*sorted(name for name in packages if name.startswith('headworks_')))
"""


@pytest.mark.parametrize(
    ("words", "packages"),
    [
        ("plan dstorm:linear -s dstorm", "headworks_dstorm"),
        ("plan hetero:linear-three -s hetero", "headworks_hetero"),
        ("plan {request} -s dstorm", "headworks_dstorm"),
        ("compare dstorm:linear -s dstorm -s even", "headworks_baselines headworks_dstorm"),
        ("run --engine sim -s dstorm --rounds 1 dstorm:linear", "headworks_dstorm headworks_sim"),
        ("simulate dstorm:linear -s even --duration 20", "headworks_baselines headworks_dstorm headworks_sim"),
        ("reproduce sps", "headworks_priority"),
        ("spark --help", "headworks_spark"),
        ("--version", ""),
    ],
)
def test_a_command_imports_the_plugins_that_it_names_and_no_other(words, packages, tmp_path):
    request = tmp_path / "request.json"
    request.write_text(dumps(word_count()))
    words = [word.format(request=request) for word in words.split()]
    done = subprocess.run([sys.executable, "-c", ALONE, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == packages.split()


def test_the_help_imports_no_algorithm():
    done = subprocess.run([sys.executable, "-c", ALONE, "--help"], capture_output=True, text=True, check=True)
    expected = ["headworks_manager", "headworks_pipeline", "headworks_sim", "headworks_spark", "headworks_storm"]
    assert done.stdout.split() == expected


@pytest.mark.parametrize("words", ["reproduce dstorm", "sweep -w dstorm:linear", "demo priority", "storm profile x"])
def test_a_command_of_the_laboratory_says_how_to_install_it(words, monkeypatch):
    monkeypatch.setenv("HEADWORKS_DISABLE_PLUGINS", "reproduce,sweep,demo.priority,storm.profile")
    done = CliRunner().invoke(headworks, words.split())
    assert done.exit_code == 2
    assert "is a command of the laboratory: install it with `pip install ./lab` in a clone" in done.output
    assert "reproduce" not in CliRunner().invoke(headworks, ["--help"]).output

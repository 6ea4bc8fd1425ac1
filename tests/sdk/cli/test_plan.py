from __future__ import annotations

import json
import os
import sys

import attrs
import jsonschema
import pytest
from click.testing import CliRunner

from headworks.cli.main import headworks, main
from headworks.documents import dumps, loads, read, write
from headworks.documents.schema import schema_of
from headworks.model import Plan
from headworks.plugins.host import PluginHost
from memory_engine import Judge
from plugin_folder import install
from shell import called
from shell import headworks as run
from small_requests import component, node, request, topology, word_count


@pytest.fixture
def place(tmp_path):
    write(tmp_path / "request.json", word_count())
    return tmp_path / "request.json"


def invoke(*words, **more):
    return CliRunner().invoke(headworks, ["plan", *map(str, words)], **more)


def test_a_person_reads_a_table_and_a_program_json(place):
    done = invoke(place, "-s", "even")
    assert done.exit_code == 0
    assert "traffic between nodes" in done.stdout
    done = invoke(place, "-s", "even", "--json")
    data = json.loads(done.stdout)
    jsonschema.validate(data, schema_of(Plan))
    assert (data["status"], done.stderr) == ("ok", "")


def test_the_plan_is_written_where_it_was_asked(place, tmp_path):
    done = invoke(place, "-s", "even", "-O", tmp_path / "new" / "plan.json")
    assert (done.exit_code, done.stderr) == (0, f"wrote {tmp_path / 'new' / 'plan.json'}\n")
    assert read(tmp_path / "new" / "plan.json", Plan).status == "ok"


def test_a_request_may_come_from_stdin():
    done = called("plan", "-", "-s", "even", "--json", stdin=dumps(word_count()))
    assert done.returncode == 0
    assert loads(done.stdout, Plan).provenance.scheduler == "even"


def test_a_plan_that_starves_on_purpose_is_exit_code_0_and_says_whom():
    done = called("plan", "dps:use-case-1-on", "-s", "dps")
    assert done.returncode == 0
    assert "starves ArchivalTP1, ArchivalTP2" in done.stdout
    assert "starves: ArchivalTP1 gets none of 16 nodes" in done.stderr


def test_an_infeasible_plan_is_exit_code_1_with_its_reasons_on_stderr():
    asked = request([node("a", 10.0)], [topology("t", component("c"))])
    done = called("plan", "-", "-s", "resource-aware", "--json", stdin=dumps(asked))
    assert done.returncode == 1
    assert json.loads(done.stdout)["status"] == "infeasible"
    assert "infeasible: t/c/0 needs 50 cpu" in done.stderr


def test_a_held_plan_is_exit_code_3(place, monkeypatch):
    host = PluginHost().with_plugin("wrong", Judge([0]))
    monkeypatch.setattr(PluginHost, "load", classmethod(lambda cls: host))
    done = invoke(place, "-s", "wrong", "--json")
    assert (done.exit_code, json.loads(done.stdout)["status"]) == (3, "held")
    assert done.stderr.startswith("held: wrong raised ValueError")


MISTAKES = {
    "missing file": (["missing.json"], 2, "cannot be read"),
    "folder": (["."], 2, "cannot be read"),
    "unknown scheduler": (["{place}", "-s", "nobody"], 2, "there is no scheduler 'nobody'; there are: "),
    "not a scheduler": (["{place}", "-s", "spark"], 2, "spark is not a scheduler; there are: "),
    "unknown option": (["{place}", "-s", "even", "-o", "colour=red"], 2, "no option 'colour'"),
    "bad option": (["{place}", "-s", "even", "-o", "rebalance=perhaps"], 2, "rebalance"),
    "option without value": (["{place}", "-s", "even", "-o", "rebalance"], 2, "NAME=VALUE"),
    "negative deadline": (["{place}", "--deadline", "-1"], 2, "deadline"),
    "negative limit": (["{place}", "--max-moves", "-1"], 2, "max-moves"),
    "unknown workload": (["even:nothing"], 2, "no workload 'nothing'"),
    "long workload": (["even:" + "x" * 300], 2, "no workload"),
    "output in a file": (["{place}", "-s", "even", "-O", "{place}/plan.json"], 2, "cannot be written"),
    "output is a folder": (["{place}", "-s", "even", "-O", "/"], 2, "directory"),
}


@pytest.mark.parametrize(("words", "code", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_a_message_on_stderr_and_an_exit_code(place, words, code, message, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["headworks", "plan", *(word.format(place=place) for word in words)])
    with pytest.raises(SystemExit) as end:
        main()
    told = capsys.readouterr()
    assert (end.value.code, told.out) == (code, "")
    assert message in told.err


@pytest.mark.parametrize("text", ["", "{", '{"seed": NaN}', '{"seeds": 1}', "[" * 100_000])
def test_a_bad_document_is_exit_code_2(text):
    done = called("plan", "-", stdin=text)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("headworks: ")


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_file_without_permission_is_a_message(place):
    place.chmod(0)
    assert called("plan", place).returncode == 2


@pytest.mark.parametrize("more", [{}, {"NO_COLOR": "1"}])
def test_no_colour_is_in_what_is_piped(place, more):
    assert "\x1b" not in called("plan", place, "-s", "even", **more).stdout


@pytest.mark.parametrize("name", ["", "1"])
def test_a_terminal_gets_colours_unless_it_wants_none(name):
    done = called("doctor", FORCE_COLOR="1", NO_COLOR=name)
    assert ("\x1b[32m" in done.stdout) == (not name)


def test_ids_are_shown_as_they_are_not_as_markup():
    asked = request([node("[red]a[/]")], [topology("t", component("[bold]c[/bold]"))])
    done = called("plan", "-", "-s", "even", stdin=dumps(asked))
    assert "[red]a[/]" in done.stdout
    assert "[bold]c[/bold]" in done.stdout


def test_a_limit_of_the_request_is_kept_unless_another_is_given(place):
    asked = attrs.evolve(word_count(), seed=3)
    data = json.loads(invoke("-", "-s", "even", "--json", input=dumps(asked)).stdout)
    assert data["provenance"]["seed"] == 3


LASTING = """
import threading
from headworks.hooks import Description, hookimpl

class Plugin:
    @hookimpl
    def headworks_describe(self):
        return Description(summary="lasting")

    @hookimpl
    def headworks_schedule(self, request):
        own = threading.Thread(target=threading.Event().wait, daemon=False)
        own.start()
        own.join()

plugin = Plugin()
"""


def test_an_abandoned_scheduler_does_not_hold_up_the_end(tmp_path):
    install(tmp_path, "lasting-plugin", {"lasting": LASTING})
    done = run("plan", "dstorm:linear", "-s", "lasting", "--deadline", "0.5", "--json", PYTHONPATH=str(tmp_path))
    assert done.returncode == 3
    assert json.loads(done.stdout)["status"] == "held"
    assert "abandoned" in done.stderr + done.stdout

"""`plugins`, `schema`, `doctor` and `reproduce`: what there is."""

from __future__ import annotations

import json
from pathlib import Path

import attrs
import pytest
from click.testing import CliRunner

import headworks_schemas
from headworks.cli.main import headworks
from headworks.cli.output import WIDTH
from headworks.hooks import Description, hookimpl
from headworks.model import Cluster, Resources
from headworks.model.evidence import Claim, Evidence, Improvement, Workload
from headworks.plugins.host import PluginHost
from headworks.problem import Problem
from small_requests import word_count

SCHEMAS = Path(__file__).parents[3] / "schemas" / "headworks_schemas" / "v1"


class Paper:
    """A plugin with evidence."""

    @hookimpl
    def headworks_describe(self):
        return Description(summary="Evidence.", capabilities=frozenset({"total"}))

    @hookimpl
    def headworks_evidence(self):
        kept = Claim(id="kept", source="T1", statement="s", printed=1.0, verify=lambda: 1.0)
        broken = Claim(id="broken", source="T1", statement="s", printed=1.0, verify=lambda: 2.0)
        words = Workload(name="words", summary="Count words.", build=word_count)
        return Evidence(workloads=[words], claims=[kept, broken])


class Variant:
    """An improved variant of `even`."""

    @hookimpl
    def headworks_describe(self):
        return Description(summary="Everything on one node.")

    @hookimpl
    def headworks_schedule(self, request, options):
        problem = Problem.of(request)
        return problem.plan([0] * problem.n)

    @hookimpl
    def headworks_evidence(self):
        given = {"statement": "traffic", "build": roomy, "published": "even"}
        less = Improvement(id="less", figure=between, bound=lambda asked: 0.0, **given)
        worse = Improvement(id="worse", figure=between, more=True, note="on purpose", **given)
        return Evidence(improvements=(less, worse))


def roomy():
    found = word_count()
    wide = tuple(attrs.evolve(each, capacity=Resources(cpu=500.0, memory=1000.0)) for each in found.cluster.nodes)
    return attrs.evolve(found, cluster=Cluster(nodes=wide))


def between(plan):
    return plan.scores.inter_node


@pytest.fixture
def paper(monkeypatch):
    host = PluginHost.load().with_plugin("paper", Paper())
    monkeypatch.setattr(PluginHost, "load", classmethod(lambda cls, names=None: host))


def invoke(*words):
    return CliRunner().invoke(headworks, list(words))


def test_plugins_are_listed_with_roles_options_and_workloads(paper):
    data = {each["name"]: each for each in json.loads(invoke("plugins", "--json").stdout)}
    assert data["paper"]["workloads"] == ["words"]
    assert data["even"]["roles"] == ["scheduler"]
    assert data["even"]["options"]["rebalance"] is False
    assert "paper" in invoke("plugins").stdout


@attrs.frozen
class Needing:
    """Options of which one has to be given."""

    hours: int
    share: float = 0.5


class Asking:
    """A plugin that needs an option."""

    @hookimpl
    def headworks_describe(self):
        return Description(summary="Asks.", options=Needing)


def test_an_option_that_has_to_be_given_is_listed_without_a_default(monkeypatch):
    host = PluginHost.load().with_plugin("asking", Asking())
    monkeypatch.setattr("headworks.cli.commands.plugins.plugins", lambda: host)
    (line,) = [each for each in invoke("plugins").stdout.splitlines() if each.startswith(" asking ")]
    assert " hours share=0.5 " in line


def test_a_table_begins_on_the_first_line_and_its_lines_end_with_what_they_say():
    lines = invoke("plugins").stdout.splitlines()
    assert lines[0].split() == ["plugin", "is", "summary", "options", "workloads", "from"]
    assert [line for line in lines if line != line.rstrip()] == []


def test_workloads_are_listed_as_they_are_typed(paper):
    assert json.loads(invoke("workloads", "paper", "--json").stdout) == [
        {"name": "paper:words", "summary": "Count words."}
    ]
    every = {each["name"] for each in json.loads(invoke("workloads", "--json").stdout)}
    assert {"paper:words", "dstorm:linear"} <= every
    assert "paper:words" in invoke("workloads").stdout


def test_the_options_of_one_plugin_are_shown_with_what_they_take():
    data = {each["name"]: each for each in json.loads(invoke("plugins", "optimal", "--json").stdout)}
    assert data["objective"] == {
        "name": "objective",
        "takes": "auto | traffic | throughput",
        "default": "auto",
        "required": False,
    }
    assert "auto | traffic | throughput" in invoke("plugins", "optimal").stdout
    assert "there is no plugin 'optimol', did you mean optimal?" in str(invoke("plugins", "optimol").exception)


def test_a_workload_is_planned_by_its_name(paper):
    data = json.loads(invoke("plan", "paper:words", "-s", "even", "--json").stdout)
    assert set(data["assignment"]) == set(Problem.of(word_count()).task_ids)


def test_claims_are_recomputed_and_differences_are_exit_code_1(paper):
    done = invoke("reproduce", "paper", "--json")
    assert done.exit_code == 1
    assert [(each["id"], each["status"]) for each in json.loads(done.stdout)] == [
        ("kept", "exact"),
        ("broken", "differs"),
    ]
    assert invoke("reproduce", "paper", "--claim", "kept").exit_code == 0
    none = invoke("reproduce", "paper", "--claim", "x")
    assert (none.exit_code, none.stdout, none.stderr) == (2, "", "paper has no claim x\n")


def test_without_a_plugin_all_figures_are_shown_with_their_counts(paper, tmp_path, monkeypatch):
    host = PluginHost().with_plugin("paper", Paper()).with_plugin("other", Paper())
    monkeypatch.setattr(PluginHost, "load", classmethod(lambda cls, names=None: host))
    page = tmp_path / "page.html"
    done = invoke("reproduce", "--html", str(page))
    assert done.exit_code == 1
    assert done.stdout.splitlines()[-1] == "4 printed figures in 4 claims: 2 exact, 2 differs"
    assert done.stderr == f"other: 2 figures\npaper: 2 figures\nwrote {page}\n"
    assert max(map(len, done.stdout.splitlines())) <= WIDTH
    assert "4 printed figures in 4 claims: 2 exact, 2 differs" in page.read_text()
    assert {each["plugin"] for each in json.loads(invoke("reproduce", "--json").stdout)} == {"other", "paper"}


class Meter:
    """An engine that measures what the paper of one plugin prints."""

    @hookimpl
    def headworks_describe(self):
        return Description(summary="Meter.")

    @hookimpl
    def headworks_measured_claims(self, plugin):
        claim = {"id": "ratio", "source": "Figure 1", "statement": "s", "measured": True, "note": "small"}
        return [Claim(printed=0.38, verify=lambda: 0.25, **claim)] if plugin == "paper" else []


def test_what_an_engine_measures_stands_beside_the_printed_figure_whatever_it_is(monkeypatch, tmp_path):
    host = PluginHost().with_plugin("paper", Paper()).with_plugin("meter", Meter())
    monkeypatch.setattr(PluginHost, "load", classmethod(lambda cls, names=None: host))
    page = tmp_path / "page.html"
    done = invoke("reproduce", "paper", "--live", "--html", str(page))
    assert done.exit_code == 0
    assert done.stdout.splitlines()[-1] == "1 printed figures in 1 claim: 1 measured, 0 differs"
    assert "measured" in page.read_text()
    (row,) = json.loads(invoke("reproduce", "paper", "--live", "--json").stdout)
    assert (row["printed"], row["ours"], row["status"], row["note"]) == (0.38, 0.25, "measured", "small")
    none = invoke("reproduce", "meter", "--live")
    assert (none.exit_code, none.stderr) == (2, "meter has no claims that an engine measures\n")
    unnamed = invoke("reproduce", "--live")
    assert (unnamed.exit_code, "name the PLUGIN whose figures they measure" in unnamed.stderr) == (2, True)
    assert "there is no plugin 'papr', did you mean paper?" in str(invoke("reproduce", "papr", "--live").exception)


def test_variants_stand_beside_the_published_scheduler_and_the_optimum(monkeypatch, tmp_path):
    host = PluginHost.load().with_plugin("near", Variant())
    monkeypatch.setattr(PluginHost, "load", classmethod(lambda cls, names=None: host))
    done = invoke("reproduce", "near", "--json")
    less, worse = json.loads(done.stdout)
    assert done.exit_code == 1
    assert (less["ours"], less["optimum"], less["bound"], less["status"]) == (0.0, 0.0, 0.0, "proved")
    assert less["paper"] > 0
    assert (worse["status"], worse["note"]) == ("differs", "near is worse than even; on purpose")
    page = tmp_path / "page.html"
    done = invoke("reproduce", "near", "--claim", "less", "--html", str(page))
    assert (done.exit_code, done.stderr) == (0, f"near: 1 improvements\nwrote {page}\n")
    assert "near, an improved variant of even" in done.stdout
    assert done.stdout.splitlines()[-1] == "1 improvements; optimum: 1 proved"
    text = page.read_text()
    assert "near, an improved variant of even" in text
    assert "proved" in text
    assert "0 figures" not in text


def test_without_any_claim_there_is_nothing_to_reproduce(monkeypatch):
    monkeypatch.setattr(PluginHost, "load", classmethod(lambda cls, names=None: PluginHost()))
    assert (invoke("reproduce").exit_code, invoke("reproduce").stderr) == (2, "no plugin has claims\n")


def test_schemas_are_named_printed_and_written(tmp_path):
    names = list(headworks_schemas.names())
    assert sorted(names) == sorted(path.stem for path in SCHEMAS.glob("*.json"))
    assert {"request", "plan", "observation", "trigger"} <= set(names)
    assert invoke("schema").stdout.split() == names
    assert json.loads(invoke("schema", "--json").stdout) == names
    for name in names:
        assert json.loads(invoke("schema", name).stdout) == json.loads(headworks_schemas.read(name))
    done = invoke("schema", "-O", str(tmp_path / "new"))
    assert (done.exit_code, done.stdout) == (0, "")
    assert {each.name: each.read_text() for each in (tmp_path / "new").iterdir()} == {
        f"{name}.json": headworks_schemas.read(name) for name in names
    }
    assert invoke("schema", "poem").exit_code == 2


def test_the_doctor_answers_in_json_and_fails_for_what_is_broken(monkeypatch):
    done = invoke("doctor", "--json")
    findings = json.loads(done.stdout)
    assert done.exit_code == (3 if any(each["status"] == "broken" for each in findings) else 0)
    assert "Python" in {each["subject"] for each in findings}

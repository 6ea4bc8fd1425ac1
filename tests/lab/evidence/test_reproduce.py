"""`headworks reproduce`: printed figures beside recomputed and measured ones, and variants beside the optimum."""

from __future__ import annotations

import json

import attrs
import pytest
from click.testing import CliRunner

from headworks.cli.main import headworks
from headworks.cli.output import WIDTH
from headworks.hooks import Description, hookimpl
from headworks.model import Cluster, Resources
from headworks.plugins.host import PluginHost
from headworks.problem import Problem
from headworks_lab.evidence import named as groups
from headworks_lab.evidence import reproduce
from headworks_lab.evidence.model import Claim, Improvement
from small_requests import word_count


class Paper:
    """A plugin with claims."""

    claims = (
        Claim(id="kept", source="T1", statement="s", printed=1.0, verify=lambda: 1.0),
        Claim(id="broken", source="T1", statement="s", printed=1.0, verify=lambda: 2.0),
    )
    measured = (
        Claim(
            id="ratio", source="Figure 1", statement="s", measured=True, note="small", printed=0.38, verify=lambda: 0.25
        ),
    )

    @hookimpl
    def headworks_describe(self):
        return Description(summary="A paper.")


class Variant:
    """An improved variant of `even`."""

    @hookimpl
    def headworks_describe(self):
        return Description(summary="Everything on one node.")

    @hookimpl
    def headworks_schedule(self, request, options):
        problem = Problem.of(request)
        return problem.plan([0] * problem.n)

    @property
    def improvements(self):
        given = {"statement": "traffic", "build": roomy, "published": "even"}
        less = Improvement(id="less", figure=between, bound=lambda asked: 0.0, **given)
        worse = Improvement(id="worse", figure=between, more=True, note="on purpose", **given)
        return less, worse


def roomy():
    found = word_count()
    wide = tuple(attrs.evolve(each, capacity=Resources(cpu=500.0, memory=1000.0)) for each in found.cluster.nodes)
    return attrs.evolve(found, cluster=Cluster(nodes=wide))


def between(plan):
    return plan.scores.inter_node


def named(monkeypatch, host=None, **plugins):
    """Plugins, with what they are said to claim."""
    host = host or PluginHost()
    for name, plugin in plugins.items():
        host = host.with_plugin(name, plugin)
    monkeypatch.setattr(PluginHost, "load", classmethod(lambda cls, names=None: host))
    for function, of in (("claims_of", "claims"), ("improvements_of", "improvements"), ("measured_claims", "measured")):
        found = {name: getattr(plugin, of, ()) for name, plugin in plugins.items()}
        monkeypatch.setattr(reproduce, function, lambda name, found=found: found.get(name, ()))
    monkeypatch.setattr(reproduce, "with_evidence", lambda: tuple(sorted(plugins)))


@pytest.fixture
def paper(monkeypatch):
    named(monkeypatch, PluginHost.load(), paper=Paper())


def invoke(*words):
    return CliRunner().invoke(headworks, list(words))


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


def test_without_a_plugin_all_figures_are_shown_with_their_counts(tmp_path, monkeypatch):
    named(monkeypatch, paper=Paper(), other=Paper())
    page = tmp_path / "page.html"
    done = invoke("reproduce", "--html", str(page))
    assert done.exit_code == 1
    assert done.stdout.splitlines()[-1] == "4 printed figures in 4 claims: 2 exact, 2 differs"
    assert done.stderr == f"other: 2 figures\npaper: 2 figures\nwrote {page}\n"
    assert max(map(len, done.stdout.splitlines())) <= WIDTH
    assert "4 printed figures in 4 claims: 2 exact, 2 differs" in page.read_text()
    assert {each["plugin"] for each in json.loads(invoke("reproduce", "--json").stdout)} == {"other", "paper"}


def test_what_an_engine_measures_stands_beside_the_printed_figure_whatever_it_is(monkeypatch, tmp_path):
    named(monkeypatch, paper=Paper(), meter=Variant())
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
    named(monkeypatch, PluginHost.load(), near=Variant())
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
    named(monkeypatch)
    assert (invoke("reproduce").exit_code, invoke("reproduce").stderr) == (2, "no plugin has claims\n")


def test_claims_are_found_by_entry_points():
    assert {"dps", "dstorm", "dstorm-plus", "hetero", "hetero-plus", "otd", "sim", "sps", "sps-v2"} == {
        *groups.with_evidence()
    }
    assert groups.claims("even") == groups.improvements("even") == groups.measured_claims("even") == ()
    assert len(groups.measured_claims("otd")) > 1

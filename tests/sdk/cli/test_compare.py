from __future__ import annotations

import json

import jsonschema
import pytest
from click.testing import CliRunner

from headworks.api import Comparison
from headworks.cli.main import headworks
from headworks.documents import loads, write
from headworks.documents.schema import schema_of
from headworks.plugins.host import PluginHost
from headworks.problem.plan.front import front
from small_requests import component, node, request, topology, word_count


@pytest.fixture
def place(tmp_path):
    write(tmp_path / "request.json", word_count())
    return tmp_path / "request.json"


def invoke(*words, **more):
    return CliRunner().invoke(headworks, ["compare", *map(str, words)], **more)


def test_every_scheduler_is_compared_unless_some_are_named(place):
    data = json.loads(invoke(place, "--json").stdout)
    jsonschema.validate(data, schema_of(Comparison))
    assert [row["scheduler"] for row in data["plans"]] == list(PluginHost.load().schedulers)
    two = loads(invoke(place, "-s", "resource-aware", "-s", "even", "--json").stdout, Comparison)
    assert [row.scheduler for row in two.plans] == ["resource-aware", "even"]


def test_a_person_reads_one_line_a_scheduler(place):
    done = invoke(place, "-s", "even", "-s", "resource-aware")
    assert done.exit_code == 0
    assert {"even", "resource-aware"} <= {line.split()[0] for line in done.stdout.splitlines() if line.strip()}


def test_the_page_is_written_where_it_was_asked(place, tmp_path):
    done = invoke(place, "-s", "even", "--html", tmp_path / "page.html")
    assert done.exit_code == 0
    assert done.stderr == f"wrote {tmp_path / 'page.html'}\n"
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")


def test_the_worst_status_is_the_exit_code(tmp_path):
    write(tmp_path / "request.json", request([node("a", 10.0)], [topology("t", component("c"))]))
    done = invoke(tmp_path / "request.json", "-s", "resource-aware")
    assert done.exit_code == 1
    assert done.stderr.startswith("resource-aware: infeasible: ")


def test_options_belong_to_a_scheduler_that_is_compared(place):
    assert invoke(place, "-s", "even", "-o", "even.rebalance=yes").exit_code == 0
    done = invoke(place, "-s", "even", "-o", "rebalance=yes")
    assert (done.exit_code, "name the scheduler too" in done.stderr) == (2, True)
    assert "compared are even" in str(invoke(place, "-s", "even", "-o", "isolation.rebalance=yes").exception)


def test_several_requests_give_a_table_each_and_a_summary(place):
    done = invoke(place, place, "-s", "even", "-s", "resource-aware")
    assert (done.exit_code, done.stdout.count(str(place))) == (0, 2)
    assert "2 requests" in done.stdout
    assert "2 of 2" in done.stdout
    data = json.loads(invoke(place, place, "-s", "even", "--json").stdout)
    assert [len(each["plans"]) for each in data] == [1, 1]
    assert "name one" in invoke(place, place, "-s", "even", "--html", "x.html").stderr


def test_a_front_has_a_line_for_each_plan_that_no_other_beats(place, tmp_path):
    done = invoke(place, "-s", "dstorm-plus", "-s", "even", "--front", "--json", "--html", tmp_path / "page.html")
    assert done.exit_code == 0
    found = loads(done.stdout, Comparison)
    assert front([row.plan for row in found.plans]) == [*range(len(found.plans))] != []
    page = (tmp_path / "page.html").read_text()
    assert all(row.name in page for row in found.plans)
    person = invoke(place, place, "-s", "dstorm-plus", "-s", "even", "--front").stdout
    assert "2 requests" not in person
    assert all(row.name in person for row in found.plans)


def test_a_front_without_a_whole_plan_says_so(tmp_path):
    write(tmp_path / "request.json", request([node("a", 10.0)], [topology("t", component("c"))]))
    done = invoke(tmp_path / "request.json", "-s", "resource-aware", "--front", "--figures", tmp_path)
    assert (done.exit_code, "no plan is whole" in done.stderr) == (1, True)


def test_the_gap_to_the_proven_optimum_stands_beside_every_scheduler(place):
    found = loads(invoke(place, "-s", "even", "-s", "optimal", "--deadline", 300, "--json").stdout, Comparison)
    even, best = found.plans
    assert found.bound == best.plan.bound
    assert (found.bound.proven, best.gap) == (True, 0.0)
    assert even.gap is None or even.gap >= 0
    assert "proven optimum" in invoke(place, "-s", "optimal", "--deadline", 300).stdout


def test_the_table_says_what_was_not_searched(monkeypatch):
    monkeypatch.setattr("headworks_exact.placement.CLASSES", 3)
    monkeypatch.setattr("headworks_exact.by_topology.COMPONENTS", 0)
    done = CliRunner().invoke(headworks, ["compare", "dstorm:linear", "-s", "optimal"])
    assert done.exit_code == 0
    assert "ok, not searched" in done.stdout
    assert "no plan has less" not in done.stdout
    assert "different tasks, and no search for better" in done.stderr

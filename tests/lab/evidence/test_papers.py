"""What every plugin claims and offers to try: its figures are as it says, its workloads can be planned."""

from __future__ import annotations

from collections import Counter
from functools import cache

import attrs
import pytest

from doc_tables import block, tables
from headworks.model import Status
from headworks.plugins.host import PluginHost
from headworks_lab.evidence.claims import counts, reproduce, summary
from headworks_lab.evidence.named import claims, improvements, with_evidence
from headworks_lab.evidence.variants import improve

PATIENCE = 120.0
"""Seconds to plan: whether a plan is there in time is for benchmarks to say."""
HOST = PluginHost.load()
OF = {name: claims(name) for name in with_evidence()}
CLAIMS = [(name, claim) for name, found in OF.items() for claim in found]
IMPROVEMENTS = [(name, each) for name in with_evidence() for each in improvements(name)]
WIDEST = 0.25
"""Relative tolerance of a claim, at most: a wider one would hold for figures that no reader takes for the printed."""
LITTLE = 0.001
"""Effort of the exact scheduler: enough to prove what is easy, and to have a bound on the rest."""
WORKLOADS = [(name, each) for name in HOST.having("headworks_workloads") for each in HOST.workloads(name)]


def named(pairs, attribute):
    return [f"{name}:{getattr(each, attribute)}" for name, each in pairs]


@cache
def recomputed(name, number):
    """The result of a plugin's claim; each is computed once for all tests of this module."""
    return reproduce(OF[name][number], name)


@pytest.mark.parametrize(("name", "claim"), CLAIMS, ids=named(CLAIMS, "id"))
def test_a_figure_is_what_its_plugin_says_of_it(name, claim):
    result = recomputed(name, OF[name].index(claim))
    assert result.status != "differs", result
    assert result.note or result.status != "not reproducible"
    assert claim.tolerance <= WIDEST
    assert all(claim.fitted)
    ids = [other.id for other in OF[name]]
    assert all(other in ids[: ids.index(claim.id)] for other in claim.follows)
    assert claim.source
    assert claim.statement


def tier(name, improvement):
    """Half of the dearest are of the matrix: the same topologies and machines are tried with another overhead."""
    marks = pytest.mark.matrix if name == "hetero-plus" and improvement.id.endswith("-met0") else ()
    return pytest.param(name, improvement, marks=marks)


@pytest.mark.parametrize(("name", "improvement"), [tier(*each) for each in IMPROVEMENTS], ids=named(IMPROVEMENTS, "id"))
def test_a_variant_is_never_worse_than_the_published_scheduler(name, improvement):
    effort = {**improvement.effort, "effort": LITTLE} if improvement.exact else {}
    row = improve(attrs.evolve(improvement, effort=effort), name, HOST)
    assert row.status in ("proved", "bound"), row
    assert row.paper is not None
    assert row.statement


def test_every_improved_variant_is_shown_beside_the_optimum():
    assert {"dstorm-plus", "hetero-plus", "otd", "sps-v2"} <= {name for name, _ in IMPROVEMENTS}


def test_claims_have_names_of_their_own():
    twice = [name for name, number in Counter(named(CLAIMS + IMPROVEMENTS, "id")).items() if number > 1]
    assert not twice


def test_points_of_a_chart_are_there_once():
    points = Counter((name, claim.point) for name, claim in CLAIMS if claim.point is not None)
    assert not [point for point, number in points.items() if number > 1]


def test_the_documents_count_these_figures():
    results = {name: [recomputed(name, at) for at in range(len(OF[name]))] for name in with_evidence()}
    text = block("reproduce")
    ((_, rows),) = tables(text)
    found = {row["plugin"]: [int(cell) for cell in list(row.values())[1:]] for row in rows}
    columns, counted = counts({name: each for name, each in results.items() if each})
    assert found == {name: list(figures) for name, *figures in counted}
    assert tuple(rows[0]) == columns
    said = " ".join(text.split())
    assert summary([each for found in results.values() for each in found]) in said
    assert f"{len(IMPROVEMENTS)} improvements; optimum: " in said


def test_workloads_have_names_of_their_own():
    assert len(set(named(WORKLOADS, "name"))) == len(WORKLOADS)


@pytest.mark.parametrize(("name", "workload"), WORKLOADS, ids=named(WORKLOADS, "name"))
def test_a_workload_is_built_the_same_each_time_and_planned(name, workload):
    request = workload.build()
    assert request == workload.build()
    assert workload.summary
    if name in HOST.schedulers:
        patient = attrs.evolve(request, limits=attrs.evolve(request.limits, deadline=PATIENCE))
        plan = HOST.schedule(name, patient)
        assert plan.status is Status.OK or plan.starves, plan.reasons

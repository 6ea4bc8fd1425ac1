"""A real stream from one end to the other: placed, measured, profiled, and planned again from its own profile."""

from __future__ import annotations

import json
from pathlib import Path

import attrs
import jsonschema
import pytest

from headworks.control.journal import Round, read_journal
from headworks.documents import read, structure
from headworks.documents.schema import schema_of
from headworks.model import Request
from headworks.model.plan import NO_PROFILES
from headworks.problem import Problem
from headworks.problem.plan.score import score
from headworks_pipeline.run import KNOWLEDGE, REQUEST
from headworks_spark.local.cluster import LocalSpark, worker_specs
from pipeline_command import PATIENCE, pipeline
from shell import followed, headworks

APPLICATION = Path(__file__).parents[3] / "examples" / "spark" / "flights.py"
TYPES = ("large", "small")
PACE = ("--deadline", 60, "--rounds", 4, "--window", 3, "--interval", 0)

pytestmark = [pytest.mark.matrix, pytest.mark.spark, pytest.mark.slow]


def test_flights_are_planned_from_their_own_profile(tmp_path):
    samples, journal, learnt = (tmp_path / name for name in ("samples", "journal.jsonl", "learnt"))
    words = ("-s", "even", "-o", "rebalance=yes", "--slowdown", 9, *PACE, "--samples", samples, "--journal", journal)
    followed("run", "--engine", "spark", *words, APPLICATION, journal=journal, rounds=4, folder=tmp_path)
    rounds = list(read_journal(journal))
    for each in rounds:
        jsonschema.validate(each, schema_of(Round))
    assert rounds[0]["outcome"] == "executed"
    assert rounds[0]["check"]["hits"] == rounds[0]["check"]["asked"] == 24
    made = json.loads(pipeline(samples, learnt).stdout)
    assert made["rows"][""] == made["knowledge"]["samples"] > 0
    assert set(made["rows"]) == {""}
    request = read(learnt / REQUEST, Request)
    stages = sorted(each.component for each in request.profiles if each.topology == "flights")
    assert [each.split("-")[:2] for each in stages] == [["stage", "0"], ["stage", "1"]]
    assert all(each.e > 0 for each in request.profiles)
    (link,) = made["knowledge"]["traffic"]
    assert [link["source"], link["target"]] == stages
    assert link["tuples"] > 0
    planned = headworks("plan", learnt / REQUEST, "-s", "dstorm", "--json")
    assert planned.returncode == 0, planned.stderr
    plan = json.loads(planned.stdout)
    assert plan["status"] == "ok"
    assert len(plan["assignment"]) == 24
    assert (learnt / KNOWLEDGE).exists()


@pytest.mark.matrix  # the one above learns profiles, and test_learn.py says what they are worth
def test_what_was_learnt_makes_the_next_plan_better_by_what_the_first_run_measured(tmp_path):
    """Two machines of unequal type: the first run has no profiles, the second those that the first one taught."""
    samples, learnt = tmp_path / "samples", tmp_path / "learnt"
    specs = zip(worker_specs((2, 1)), TYPES, strict=True)
    workers = tuple(attrs.evolve(each, machine_type=name) for each, name in specs)
    words = ("run", "--engine", "spark", "-s", "hetero-plus", "-o", "counts=given", "--replan", *PACE)
    journals = [tmp_path / f"journal-{number}.jsonl" for number in (1, 2)]
    more = [("--samples", samples), ("--knowledge", learnt)]
    for journal, own in zip(journals, more, strict=True):
        with LocalSpark(workers, timeout=PATIENCE) as cluster:
            place = ("--master", cluster.master_url, "--journal", journal, *own, APPLICATION)
            followed(*words, *place, journal=journal, rounds=4, folder=tmp_path)
        if own[0] == "--samples":
            pipeline(samples, learnt)
    first, second = ([structure(each, Round) for each in read_journal(journal)] for journal in journals)
    assert {reason.code for each in first if each.plan for reason in each.plan.reasons} == {NO_PROFILES}
    done = next(each for each in second if each.outcome == "executed")
    assert done.check.hits == done.check.asked == 24
    assert {node.machine_type for node in done.request.cluster.nodes} == set(TYPES)
    assert {each.machine_type for each in done.request.profiles} == set(TYPES)
    # Both on the same figures, those of the first run: the rate at which no machine is overloaded.
    problem = Problem.of(done.request)
    before = score(problem, first[-1].request.assignment).throughput
    assert score(problem, done.plan.assignment).throughput > before

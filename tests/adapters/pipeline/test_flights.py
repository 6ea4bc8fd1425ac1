"""A real stream from one end to the other: placed, measured, profiled, and planned again from its own profile."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headgate.control.journal import read_journal
from headgate.documents import read
from headgate.model import Request
from headgate_pipeline.run import KNOWLEDGE, REQUEST
from pipeline_command import PATIENCE, pipeline
from shell import headgate

APPLICATION = Path(__file__).parents[3] / "examples" / "spark" / "flights.py"
PACE = ("--rounds", 4, "--window", 3, "--interval", 0)

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_flights_are_planned_from_their_own_profile(tmp_path):
    samples, journal, learnt = (tmp_path / name for name in ("samples", "journal.jsonl", "learnt"))
    words = ("-s", "even", "-o", "rebalance=yes", *PACE, "--samples", samples, "--journal", journal)
    ran = headgate("run", "--engine", "spark", *words, APPLICATION, timeout=PATIENCE)
    assert ran.returncode == 0, ran.stderr
    rounds = list(read_journal(journal))
    assert rounds[0]["outcome"] == "executed"
    assert rounds[0]["check"]["hits"] == rounds[0]["check"]["asked"] == 24
    made = json.loads(pipeline(samples, learnt).stdout)
    assert made["rows"][""] == made["knowledge"]["samples"] > 0
    assert set(made["rows"]) == {""}
    request = read(learnt / REQUEST, Request)
    assert {(each.topology, each.component) for each in request.profiles} == {
        ("flights", "stage-0"),
        ("flights", "stage-1"),
    }
    assert all(each.e > 0 for each in request.profiles)
    (link,) = made["knowledge"]["traffic"]
    assert (link["source"], link["target"]) == ("stage-0", "stage-1")
    assert link["tuples"] > 0
    planned = headgate("plan", learnt / REQUEST, "-s", "dstorm", "--json")
    assert planned.returncode == 0, planned.stderr
    plan = json.loads(planned.stdout)
    assert plan["status"] == "ok"
    assert len(plan["assignment"]) == 24
    assert (learnt / KNOWLEDGE).exists()

"""The demo as a newcomer runs it: with Java, without it, and interrupted."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path

import attrs
import pytest

from doc_tables import block, number, tables
from headworks.api import compare
from headworks.problem import Problem
from headworks_spark.demo.dataset import FEEDS, flights
from headworks_spark.demo.flights import FlightsQuery
from headworks_spark.demo.murmur import partition
from headworks_spark.demo.offline import free_scores, offline_request
from headworks_spark.demo.phases import STEP, WARM_UP
from headworks_spark.local.cluster import worker_specs
from patience import PATIENCE
from shell import HEADWORKS, gone, interrupted, running

PAGE = Path(__file__).parents[3] / "docs" / "results-spark.md"
SCHEDULERS = ["even", "resource-aware", "dstorm"]
LIMIT = 1500
"""Seconds after which the demo is taken to hang; on an idle machine it takes about one minute."""


def test_offline_traffic_is_every_flight_once():
    request = offline_request(FlightsQuery(folder=Path()), worker_specs((4, 2, 1)), 0.5)
    metrics = request.metrics
    feeds = sum(sample.cpu for sample in metrics.tasks if "/feeds/" in sample.task)
    airports = sum(sample.cpu for sample in metrics.tasks if "/airports/" in sample.task)
    assert feeds == pytest.approx(airports)
    assert feeds + airports == pytest.approx(0.5 * 700)
    assert len(Problem.of(request).tasks) == 2 * FEEDS


def test_the_page_s_figures_of_the_offline_question_are_those_of_its_plans():
    request = offline_request(FlightsQuery(folder=Path()), worker_specs((4, 2, 1)), 0.6)
    alone = free_scores(request)

    def planned(slowdown):
        asked = attrs.evolve(request, limits=attrs.evolve(request.limits, slowdown=slowdown))
        rows = compare(asked, SCHEDULERS).plans
        assert [row.plan.status for row in rows] == ["ok"] * 3
        times = [f"{row.plan.scores.batch_seconds / alone.batch_seconds:.2f}" for row in rows]
        return times, [f"{100 * row.plan.scores.share:.0f}" for row in rows]

    free, free_share = planned(None)
    kept, share = planned(1.0)
    page = PAGE.read_text()
    for name, long, short, less, more in zip(SCHEDULERS, free, kept, free_share, share, strict=True):
        assert f"| `{name}` | {long} | {short} | {less} % | {more} % |\n" in page
    assert f"Spark itself sends {100 * alone.share:.0f} %." in page
    assert max(map(float, kept)) <= 1.0


def test_without_java_the_offline_part_runs_and_the_way_out_is_told(tmp_path):
    with running("demo", "--json", folder=tmp_path, PATH=str(Path(HEADWORKS).parent), JAVA_HOME="") as (run, _):
        out, messages = run.communicate(timeout=PATIENCE)
    assert run.returncode == 4
    assert "Traceback" not in messages
    assert "17" in messages
    assert "java" in messages.lower()
    rows = json.loads(out)["plans"]
    assert [row["scheduler"] for row in rows] == [*SCHEDULERS, "dstorm-plus"]
    assert all(row["plan"]["status"] == "ok" for row in rows)
    assert json.loads((tmp_path / "headworks-demo" / "demo.json").read_text())["plans"] == rows


@pytest.mark.spark
def test_keys_go_where_spark_sends_them(spark):
    names = [*flights()["dest"].unique().to_pylist(), "", "word", "words", "Ünïcödé"]
    frame = spark.createDataFrame([(name,) for name in names], "dest string")
    rows = frame.selectExpr("dest", f"pmod(hash(dest), {FEEDS}) as partition").collect()
    assert {row["dest"]: row["partition"] for row in rows} == {name: partition(name, FEEDS) for name in names}


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.timeout(LIMIT + 60)
def test_the_demo_measures_what_it_planned_and_leaves_nothing(java, tmp_path):
    with running("demo", "--json", folder=tmp_path) as (run, mark):
        out, messages = run.communicate(timeout=LIMIT)
        assert run.returncode == 0, messages
        assert gone(mark) == []
    found = json.loads(out)
    assert found == json.loads((tmp_path / "headworks-demo" / "demo.json").read_text())
    assert found["differences"] == []
    phases = {phase["placement"]: phase for phase in found["phases"]}
    placed = [phase for phase in found["phases"] if phase["asked"]]
    assert [phase["placement"] for phase in placed] == [*SCHEDULERS, "dstorm-plus"]
    for phase in placed:
        assert phase["hits"] == phase["asked"] == 5 * 2 * FEEDS
        assert phase["measured_share"] == pytest.approx(phase["planned_share"], abs=0.03)
    assert len({phase["rows"] for phase in found["phases"]}) == 1
    assert phases["dstorm"]["bytes_between_nodes"] < phases["even"]["bytes_between_nodes"]
    assert phases["dstorm"]["fullest_node"] <= 1
    told = re.findall(r"\] (\d+) of (\d+) batches are done$", messages, re.MULTILINE)
    assert told == [(str(done), str(WARM_UP)) for done in range(STEP, WARM_UP + 1, STEP)]
    page = (tmp_path / "headworks-demo" / "demo.html").read_text()
    assert page.count("<svg") == len(found["phases"]) + 1  # and the curves
    for phase in found["phases"]:
        assert sum(each["bytes_between_nodes"] for each in phase["each_batch"]) == phase["bytes_between_nodes"]
        assert sum(each["rows"] for each in phase["each_batch"]) == phase["rows"]
        assert [each["begin"] for each in phase["each_batch"]] == sorted(each["begin"] for each in phase["each_batch"])
    won = found["gain"]
    assert won["placement"] == "dstorm-plus"
    assert won["low"] <= won["times"] <= won["high"]
    assert " ".join(messages.split()).endswith("same query, no restart.")
    as_documented(found["phases"])


def as_documented(phases):
    """The documents' table is of such a run: what holds in every run holds in both.

    Shares of two runs are not compared: plans are made of costs that each run measured for itself.
    """
    ((_, rows),) = tables(block("demo"))
    assert [row["placement"] for row in rows] == [phase["placement"] for phase in phases]
    share = {row["placement"]: number(row["measured"]) for row in rows}
    for row, phase in zip(rows, phases, strict=True):
        assert row["as asked"] == (f"{phase['hits']} / {phase['asked']}" if phase["asked"] else "-")
        if phase["asked"]:
            assert share[row["placement"]] == pytest.approx(number(row["planned"]), abs=3)
    assert share["dstorm"] < share["even"]


@pytest.mark.matrix
@pytest.mark.spark
@pytest.mark.slow
def test_an_interrupted_demo_ends_everything_it_started(java, tmp_path):
    interrupted("demo", folder=tmp_path, number=signal.SIGINT, at="streaming query")
    assert not (tmp_path / "headworks-demo").exists()

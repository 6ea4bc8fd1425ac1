"""The batch job on real Spark: what is used, what is not and why, and the same answers as DuckDB gives."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from headworks.documents import read, unstructure
from headworks.model import Request, Status
from headworks.model.knowledge import Knowledge
from headworks.plugins.host import PluginHost
from headworks_pipeline.run import KNOWLEDGE, REQUEST, PipelineJob, publish
from headworks_pipeline.synthetic import COSTS, TYPES
from headworks_pipeline.tables.histogram import STEPS
from headworks_pipeline.tables.store import Store
from pipeline_command import LOCAL, PATIENCE
from pipeline_samples import BAD, DUPLICATES, WILD
from plain_fit import plain_fit
from shell import headworks

duckdb = pytest.importorskip("duckdb")
pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def knowledge(made, folder):
    return read(folder / "out" / KNOWLEDGE, Knowledge)


@pytest.fixture(scope="module")
def duck(folder, sound):
    """The sound rows, as DuckDB finds them: by its own rules, from the same files."""
    base = duckdb.connect()
    files = [str(each) for each in (folder / "raw").glob("day=*/hour=*/*.parquet")]
    good = [each for each in files if Path(each).name.startswith(("samples", "again", "bad", "older", "wild"))]
    base.execute(
        """create table good as select *, epoch("end") - epoch("start") as seconds
        from read_parquet($files, union_by_name=true, hive_partitioning=true)
        where version = 1 and kind in ('task', 'flow', 'stream', 'node', 'topology') and origin is not null
          and not (kind in ('task', 'flow') and (task is null or component is null))
          and (kind <> 'task' or task in (select unnest($tasks)))
          and (kind <> 'flow' or (task in (select unnest($tasks)) and target in (select unnest($tasks))))
          and (cpu is null or (isfinite(cpu) and cpu >= 0)) and (received is null or isfinite(received))
          and "start" < "end" and epoch("end") - epoch("start") <= 3600 and hour("end") = hour
          and not (origin = 'odd' and number = 101)
        qualify row_number() over (partition by kind, origin, number, task, target, node) = 1""",
        {"files": good, "tasks": [f"plant/{name}/{i}" for name in COSTS for i in range(2)]},
    )
    yield base
    base.close()


def test_every_row_is_used_or_has_a_reason(made, knowledge, sound):
    assert made["knowledge"] == unstructure(knowledge)
    assert dict(knowledge.rejected) == BAD | {"duplicate": DUPLICATES}
    assert knowledge.samples == sound
    assert made["rows"][""] == knowledge.samples
    assert made["hours"] == ["2026-01-05T00", "2026-01-05T01"]
    assert (knowledge.since, knowledge.until) == ("2026-01-05T00", "2026-01-05T01")


def test_bad_rows_are_kept_with_their_reason(made, folder):
    from pyarrow import parquet

    store = Store(folder=folder / "out")
    files = store.files(store.manifest(), "quarantine")
    rows = [row for each in files for row in parquet.read_table(each, partitioning=None).to_pylist()]
    assert {row["reason"] for row in rows} == set(BAD)
    by_file = {row["file"]: row for row in rows}
    assert json.loads(by_file["future.parquet"]["content"]) == {"rows": 4}
    (negative,) = [row for row in rows if row["reason"] == "negative amount"]
    assert json.loads(negative["content"])["cpu"] == -1.0
    assert negative["file"] == "bad.parquet"


def test_profiles_are_those_of_duckdb(knowledge, duck):
    """Rows by DuckDB, the fit row by row; alpha by DuckDB alone."""
    expected = duck.execute(
        """select component, machine_type, list(rate order by rate, cpu), list(cpu order by rate, cpu),
                  sum(emitted) / nullif(sum(received), 0)
        from (select *, case when role = 'spout' then emitted else received end as rate from good where kind = 'task')
        group by component, machine_type order by component, machine_type"""
    ).fetchall()
    points = {name: capacity for name, capacity, _ in TYPES}
    found = knowledge.profiles
    assert len(found) == len(expected) == 6
    assert sum(each.outliers for each in found) == WILD
    for fit, (component, kind, rates, cpus, alpha) in zip(found, expected, strict=True):
        profile = fit.profile
        slope, intercept, outliers = plain_fit(np.array(rates), np.array(cpus))
        assert (profile.component, profile.machine_type) == (component, kind)
        assert (fit.samples, fit.outliers) == (len(rates), outliers)
        assert profile.e * points[kind] / 100 == pytest.approx(slope, rel=1e-6)
        assert profile.met * points[kind] / 100 == pytest.approx(intercept, rel=1e-6)
        assert profile.alpha == (None if alpha is None else pytest.approx(alpha))


def test_profiles_are_the_truth(knowledge):
    slow = {name: (capacity, factor) for name, capacity, factor in TYPES}
    for each in knowledge.profiles:
        profile = each.profile
        capacity, factor = slow[profile.machine_type]
        e, met, _ = COSTS[profile.component]
        assert profile.e == pytest.approx(e * factor * 100 / capacity, rel=0.05)
        assert profile.met == pytest.approx(met * factor * 100 / capacity, rel=0.1)


def test_demand_is_that_of_duckdb_within_half_a_level(knowledge, duck):
    for each in knowledge.demands:
        row = duck.execute(
            f"select count({each.resource}), max({each.resource}), "
            f"quantile_disc({each.resource}, [0.5, 0.9, 0.95, 0.99]) from good "
            "where kind = 'task' and component = ? and machine_type = ?",
            [each.component, each.machine_type],
        ).fetchone()
        assert (each.samples, each.peak) == (row[0], pytest.approx(row[1]))
        assert [each.p50, each.p90, each.p95, each.p99] == pytest.approx(row[2], rel=2 ** (0.5 / STEPS) - 1 + 1e-9)


def test_traffic_is_that_of_duckdb(knowledge, duck):
    expected = duck.execute(
        """with recent as (select * from good where hour("end") = 1),
                seconds as (select task, sum(seconds) as whole from recent where kind = 'task' group by task)
        select component, target_component, sum(tuples * seconds / whole), sum(bytes * seconds / whole)
        from recent join seconds using (task) where kind = 'flow' group by all order by all"""
    ).fetchall()
    found = [(each.source, each.target, each.tuples, each.bytes) for each in knowledge.traffic]
    assert [each[:2] for each in found] == [each[:2] for each in expected] == [("parse", "count"), ("read", "parse")]
    for one, other in zip(found, expected, strict=True):
        assert one[2:] == pytest.approx(other[2:])


def test_nodes_are_judged(knowledge):
    assert [(each.node, each.machine_type, each.state) for each in knowledge.nodes] == [
        ("node-0", "big", "healthy"),
        ("node-1", "small", "healthy"),
    ]
    assert [each.cpu for each in knowledge.nodes] == [50.0, 50.0]
    assert [each.slowness for each in knowledge.nodes] == pytest.approx([1.0, 1.0], abs=0.02)


def test_the_documents_are_written_and_a_plan_is_made_from_them(knowledge, folder):
    request = read(folder / "out" / REQUEST, Request)
    assert len(request.metrics.tasks) == 6
    assert len(request.metrics.flows) == 8
    assert len(request.profiles) == 6
    need = {each.id: each.demand.cpu for each in request.topologies[0].components}
    top = {each.component: max(each.p95, 0) for each in knowledge.demands if each.resource == "cpu"}
    assert need["parse"] >= top["parse"]
    host = PluginHost.load()
    for scheduler in ("resource-aware", "dstorm"):
        assert host.schedule(scheduler, request).status is Status.OK


def test_show_prints_what_is_known_without_spark(made, folder):
    shown = headworks("pipeline", "show", "-O", folder / "out", "--json")
    assert json.loads(shown.stdout) == made["knowledge"]
    text = headworks("pipeline", "show", "-O", folder / "out")
    assert text.returncode == 0
    assert "half-written file" in text.stdout


def test_documents_can_be_made_again_without_spark(made, folder):
    before = (folder / "out" / KNOWLEDGE).read_bytes()
    publish(PipelineJob(samples=folder / "raw", output=folder / "out"), Store(folder=folder / "out"))
    assert (folder / "out" / KNOWLEDGE).read_bytes() == before


def test_another_run_prints_the_profiles_and_makes_no_hour_again(made, folder):
    before = sorted((folder / "out" / "manifests").iterdir())
    words = ("pipeline", "run", folder / "raw", "-O", folder / "out", *LOCAL, "--json")
    # No JVM is started: there is none to be found.
    done = headworks(*words, timeout=PATIENCE, JAVA_HOME="/nowhere")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["knowledge"]["profiles"] == made["knowledge"]["profiles"]
    assert sorted((folder / "out" / "manifests").iterdir()) == before

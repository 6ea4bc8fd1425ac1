"""From tables to documents, without Spark: tables as the job writes them, worked out by numpy here."""

from __future__ import annotations

import numpy as np
import pytest

from headworks.documents import read
from headworks.model import FrozenMap, Request, Status
from headworks.model.knowledge import Knowledge
from headworks.plugins.host import PluginHost
from headworks_pipeline.intake.files import digest, inspect, listing
from headworks_pipeline.learning.groups import split
from headworks_pipeline.run import KNOWLEDGE, REQUEST, PipelineJob, publish
from headworks_pipeline.synthetic import COSTS, TYPES
from headworks_pipeline.tables.histogram import RATE_STEPS, STEPS
from headworks_pipeline.tables.manifest import Hour, Manifest
from headworks_pipeline.tables.store import Store
from pipeline_samples import PLANT, dirty, levels, write

pa = pytest.importorskip("pyarrow")
HOURS = ("2026-01-05T00", "2026-01-05T01")
ROWS = FrozenMap({"": 100, "clock": 2})


def put(folder, table, hour, columns):
    from pyarrow import parquet

    place = folder / "data" / "s" / table / f"hour={hour}"
    place.mkdir(parents=True)
    parquet.write_table(pa.table(columns), place / "part-0.parquet")


def cells(seed):
    """The table `cells`: each component on each machine type, 300 windows."""
    rows = {name: [] for name in ("topology", "component", "machine_type", "source", "x", "y", "n")}
    sums = {name: [] for name in ("sx", "sy", "sxx", "sxy", "syy", "received", "emitted", "peak")}
    rng = np.random.default_rng(seed)
    for component, (e, met, alpha) in COSTS.items():
        for kind, _, factor in TYPES:
            rate = rng.uniform(100, 2000, 300)
            cpu = (e * rate + met) * factor
            got = rate if component != "read" else np.zeros(300)
            gave = alpha * rate
            for name, values in zip(sums, (rate, cpu, rate * rate, rate * cpu, cpu * cpu, got, gave, cpu), strict=True):
                sums[name] += values.tolist()
            for name, value in (("topology", "plant"), ("component", component), ("machine_type", kind)):
                rows[name] += [value] * 300
            rows["source"] += ["thread"] * 300
            rows["n"] += [1] * 300
            rows["x"] += levels(rate, RATE_STEPS).tolist()
            rows["y"] += levels(cpu, STEPS).tolist()
    return rows | sums


def sums():
    """The table `sums`: tasks at 1,000 tuples/s for 100 s, flows of half of that."""
    weighted = ("cpu", "memory", "received", "emitted", "queue", "tuples", "bytes", "rate")
    rows = []
    for task in PLANT.state().topologies[0].tasks():
        node = task.index % 2
        e, met, _ = COSTS[task.component]
        amounts = {
            "cpu": (e * 1000 + met) * TYPES[node][2] * (2.0 if node else 1.0),
            "received": 1000.0,
            "rate": 1000.0,
        }
        common = {"topology": "plant", "component": task.component, "machine_type": TYPES[node][0], "task": task.id}
        rows.append({**common, "kind": "task", "node": f"node-{node}", **amounts})
    for source, target in (("read", "parse"), ("parse", "count")):
        for i, j in ((0, 0), (0, 1), (1, 0)):
            ends = {"task": f"plant/{source}/{i}", "target": f"plant/{target}/{j}", "target_component": target}
            common = {"topology": "plant", "component": source, "machine_type": TYPES[i][0], "node": f"node-{i}"}
            rows.append({**common, "kind": "flow", **ends, "tuples": 500.0, "bytes": 5000.0})
    even = {"topology": "plant", "component": "read", "machine_type": "", "kind": "stream", "task": "plant/read"}
    rows.append({**even, "target": "plant/count", "target_component": "count", "tuples": 200.0, "bytes": 2000.0})
    names = ("topology", "component", "machine_type", "kind", "task", "target", "target_component", "node")
    columns = {name: pa.array([row.get(name) for row in rows], pa.string()) for name in names}
    columns |= {"n": pa.array([20] * len(rows)), "seconds": pa.array([100.0] * len(rows))}
    for name in weighted:
        amounts = [row.get(name) for row in rows]
        columns[f"s_{name}"] = pa.array([None if each is None else 100.0 * each for each in amounts], pa.float64())
        columns[f"w_{name}"] = pa.array([None if each is None else 100.0 for each in amounts], pa.float64())
    return columns


def windows():
    minutes = list(range(60))
    subjects = [("node", "node-0", "big"), ("node", "node-1", "small"), ("topology", "plant", "")]
    rows = [(kind, subject, typ, minute) for kind, subject, typ in subjects for minute in minutes]
    columns = {name: [row[at] for row in rows] for at, name in enumerate(("kind", "subject", "machine_type", "minute"))}
    node = [row[0] == "node" for row in rows]
    amounts = {"cpu": (50.0, None), "memory": (None, None), "offered": (None, 9.0), "throughput": (None, 8.0)}
    for name, (one, other) in (amounts | {"latency": (None, 3.0)}).items():
        columns[name] = pa.array([one if each else other for each in node], pa.float64())
    return columns


@pytest.fixture
def learnt(tmp_path):
    out = tmp_path / "out"
    for number, hour in enumerate(HOURS):
        put(out, "cells", hour, cells(number))
        put(out, "sums", hour, sums())
        put(out, "windows", hour, windows())
    levels_ = {"topology": ["plant"], "component": ["parse"], "machine_type": ["big"], "resource": ["memory"]}
    put(out, "levels", HOURS[0], levels_ | {"y": [STEPS * 7], "n": [10], "peak": [128.5]})
    store = Store(folder=out)
    hours = {hour: Hour(inputs="i", snapshot="s", rows=ROWS, files=store.staged_files("s", hour)) for hour in HOURS}
    store.commit(Manifest(hours=FrozenMap(hours)))
    PLANT.write(tmp_path / "raw", windows=1)
    job = PipelineJob(samples=tmp_path / "raw", output=out)
    return job, publish(job, Store(folder=out))


def test_profiles_are_in_percent_of_the_machine(learnt):
    _, knowledge = learnt
    assert len(knowledge.profiles) == 6
    for each in knowledge.profiles:
        capacity, factor = {name: (capacity, factor) for name, capacity, factor in TYPES}[each.profile.machine_type]
        e, met, alpha = COSTS[each.profile.component]
        assert each.profile.e == pytest.approx(e * factor * 100 / capacity)
        assert each.profile.met == pytest.approx(met * factor * 100 / capacity)
        assert each.profile.alpha == (None if each.profile.component == "read" else pytest.approx(alpha))
        assert (each.samples, each.outliers, each.since) == (600, 0, HOURS[0])


def test_traffic_demand_and_counts(learnt):
    _, knowledge = learnt
    assert [(each.source, each.target, each.tuples, each.bytes) for each in knowledge.traffic] == [
        ("parse", "count", 1500.0, 15000.0),
        ("read", "count", 200.0, 2000.0),
        ("read", "parse", 1500.0, 15000.0),
    ]
    (memory,) = [each for each in knowledge.demands if each.resource == "memory"]
    assert (memory.p50, memory.peak, memory.samples) == (128.0, 128.5, 10)
    assert (knowledge.samples, dict(knowledge.rejected)) == (200, {"clock": 4})
    assert (knowledge.since, knowledge.until, knowledge.recent) == (*HOURS, HOURS[1])


def test_a_node_whose_tasks_cost_twice_is_slow(learnt):
    _, knowledge = learnt
    assert [(each.node, each.state, each.slowness) for each in knowledge.nodes] == [
        ("node-0", "healthy", 1.0),
        ("node-1", "slow", 2.0),
    ]


def test_the_request_is_planned_as_it_is(learnt):
    job, knowledge = learnt
    assert read(job.output / KNOWLEDGE, Knowledge) == knowledge
    request = read(job.output / REQUEST, Request)
    assert (len(request.metrics.tasks), len(request.metrics.flows), len(request.profiles)) == (6, 6, 6)
    assert [(each.source, each.target, each.bytes) for each in request.metrics.streams] == [("read", "count", 2000.0)]
    assert request.metrics.topologies[0].throughput == 8.0
    assert request.metrics.nodes[0].cpu == 50.0
    parse = next(each for each in request.topologies[0].components if each.id == "parse")
    assert parse.demand.memory == 128.0
    demands = [each for each in knowledge.demands if (each.component, each.resource) == ("parse", "cpu")]
    assert parse.demand.cpu == max(each.p95 for each in demands)
    host = PluginHost.load()
    assert {name: host.schedule(name, request).status for name in ("dstorm", "resource-aware")} == {
        "dstorm": Status.OK,
        "resource-aware": Status.OK,
    }


def test_rows_are_grouped_in_order():
    columns = {"a": np.array(["y", None, "x", "y"], dtype=object), "b": np.array(["1", "1", "2", "1"])}
    found = {key: rows.tolist() for key, rows in split(columns, "a", "b").items()}
    assert list(found) == [("", "1"), ("x", "2"), ("y", "1")]
    assert sorted(found["y", "1"]) == [0, 3]
    assert split({}, "a") == {}


def test_files_are_read_as_far_as_they_can_be(tmp_path):
    dirty(tmp_path)
    hours = listing(tmp_path)
    assert list(hours) == list(HOURS)
    files = [inspect(HOURS[0], stamp) for stamp in hours[HOURS[0]]]
    reasons = {file.path.rpartition("/")[2]: file.reason for file in files}
    assert reasons == {
        "again.parquet": "",
        "bad.parquet": "",
        "future.parquet": "unknown schema version",
        "half.parquet": "half-written file",
        "older.parquet": "",
        "samples-0-00000000.parquet": "",
        "text.parquet": "columns of another type",
        "wild.parquet": "",
    }


def test_another_file_is_another_input(tmp_path):
    write(tmp_path / "day=2026-01-05" / "hour=00" / "a.parquet", [])
    before = listing(tmp_path)[HOURS[0]]
    assert digest(before) == digest(before)
    assert digest(before) != digest(before, "other tasks")
    write(tmp_path / "day=2026-01-05" / "hour=00" / "b.parquet", [])
    assert digest(listing(tmp_path)[HOURS[0]]) != digest(before)

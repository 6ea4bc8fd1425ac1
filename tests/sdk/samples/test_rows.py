"""Observations as rows and files: every figure is in a row, and a file is whole or not there."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from pathlib import Path

import attrs
import pytest

from headworks.documents import dumps
from headworks.errors import EngineError
from headworks.model import (
    Flow,
    FrozenMap,
    Metrics,
    NodeSample,
    Observation,
    Slot,
    StreamSample,
    TaskSample,
    TopologySample,
)
from headworks.samples import rows as samples
from headworks.samples.rows import AMOUNTS, COLUMNS, VERSION, rows_of
from headworks.samples.store import MARK, Keeper, read_states, write_rows, write_state
from small_requests import component, node, request, topology

dataset = pytest.importorskip("pyarrow.dataset")
NOON = 1_700_049_600.0


def observation(**more):
    made = request([node("a"), node("b")], [topology("t", component("c", 2))])
    nodes = tuple(attrs.evolve(each, machine_type="fast") for each in made.cluster.nodes)
    metrics = Metrics(
        window=5.0,
        tasks=(TaskSample(task="t/c/0", cpu=10.0, received=3.0, source="thread"), TaskSample(task="t/x/9", cpu=1.0)),
        flows=(Flow(source="t/c/0", target="t/c/1", tuples=2.0, bytes=8.0),),
        nodes=(NodeSample(node="a", cpu=20.0, memory=64.0, source="procfs"),),
        topologies=(TopologySample(topology="t", offered=9.0, throughput=8.0, latency=1.5),),
        streams=(StreamSample(topology="t", source="c", target="c", tuples=6.0, bytes=24.0),),
    )
    plain = {"topologies": made.topologies, "assignment": FrozenMap({"t/c/0": Slot("a", 1)}), "metrics": metrics}
    return Observation(cluster=attrs.evolve(made.cluster, nodes=nodes), **(plain | more))


def rows(seen, **more):
    return list(rows_of(seen, **({"engine": "sim", "origin": "m", "number": 1, "end": NOON} | more)))


def files(folder: Path):
    return sorted(each for each in folder.rglob("*") if each.is_file())


def test_every_figure_of_an_observation_is_in_a_row():
    found = rows(observation())
    assert [row["kind"] for row in found] == ["task", "task", "flow", "node", "topology", "stream"]
    for row in found:
        assert (row["version"], row["engine"], row["origin"], row["number"]) == (VERSION, "sim", "m", 1)
        assert row["start"] == datetime(2023, 11, 15, 11, 59, 55, tzinfo=UTC)
        assert row["end"] == datetime(2023, 11, 15, 12, 0, tzinfo=UTC)
        assert set(row) <= set(COLUMNS)
    task, unknown, flow, machine, whole, stream = found
    assert (task["task"], task["component"], task["role"]) == ("t/c/0", "c", "bolt")
    assert (task["node"], task["port"], task["machine_type"]) == ("a", 1, "fast")
    assert (task["cpu"], task["received"], task["source"]) == (10.0, 3.0, "thread")
    assert (unknown["task"], unknown.get("component"), unknown.get("node")) == ("t/x/9", None, None)
    assert (flow["task"], flow["target"], flow["target_component"]) == ("t/c/0", "t/c/1", "c")
    assert (flow["tuples"], flow["bytes"], flow["node"]) == (2.0, 8.0, "a")
    assert (machine["node"], machine["port"], machine["cpu"], machine["memory"]) == ("a", None, 20.0, 64.0)
    assert (whole["offered"], whole["throughput"], whole["latency"]) == (9.0, 8.0, 1.5)
    assert (stream["topology"], stream["component"], stream["role"], stream["target_component"]) == (
        "t",
        "c",
        "bolt",
        "c",
    )
    assert (stream["tuples"], stream["bytes"], stream["task"], stream["target"]) == (6.0, 24.0, "t/c", "t/c")


def test_a_share_carries_the_port_of_its_worker():
    assert [row["port"] for row in rows(observation(), share=6700) if row["kind"] in {"node", "topology"}] == [6700] * 2


def test_every_column_is_documented():
    first_cells = {
        name.strip()
        for line in (samples.__doc__ or "").splitlines()
        if line.startswith("|")
        for name in line.split("|")[1].split(",")
    }
    assert set(COLUMNS) <= first_cells
    assert set(AMOUNTS) <= set(COLUMNS)


def test_hours_are_folders_and_the_same_windows_again_add_nothing(tmp_path):
    seen = observation()
    late = rows(seen) + rows(seen, number=2, end=NOON + 3600)
    assert [each.parent.relative_to(tmp_path) for each in write_rows(tmp_path, late)] == [
        Path("day=2023-11-15/hour=12"),
        Path("day=2023-11-15/hour=13"),
    ]
    write_rows(tmp_path, rows(seen))
    assert len(files(tmp_path)) == 2
    table = dataset.dataset(tmp_path, format="parquet", partitioning="hive").to_table()
    assert table.num_rows == 12
    assert write_rows(tmp_path, []) == ()


def test_a_file_names_its_version_and_has_every_column(tmp_path):
    (file,) = write_rows(tmp_path, rows(observation()))
    schema = dataset.dataset(file).schema
    assert (schema.names, schema.metadata[MARK]) == (list(COLUMNS), b"1")


def test_a_write_that_fails_leaves_nothing(tmp_path, monkeypatch):
    def fail(self, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(EngineError, match="No space left"):
        write_rows(tmp_path, rows(observation()))
    assert files(tmp_path) == []


def test_a_keeper_writes_windows_and_each_state_once(tmp_path):
    seen = observation()
    keeper = Keeper(tmp_path, "sim")
    for each in (seen, seen, attrs.evolve(seen, assignment=FrozenMap()), Observation()):
        keeper.keep(each)
    states = read_states(tmp_path)
    assert [state for _, state in states] == [
        attrs.evolve(seen, metrics=Metrics()),
        attrs.evolve(seen, metrics=Metrics(), assignment=FrozenMap()),
    ]
    assert states[0][0] < states[1][0]
    table = dataset.dataset(tmp_path, format="parquet", partitioning="hive").to_table(columns=["origin", "number"])
    assert set(table["number"].to_pylist()) == {1, 2, 3}
    assert len(set(table["origin"].to_pylist())) == 1


def test_a_keeper_that_cannot_write_warns_and_goes_on(tmp_path, caplog):
    (tmp_path / "here").write_text("a file")
    with caplog.at_level(logging.WARNING):
        Keeper(tmp_path / "here", "sim").keep(observation())
    assert "the samples of one window are lost" in caplog.text


def test_a_state_that_cannot_be_read_is_left_out(tmp_path, caplog):
    (file,) = write_state(tmp_path, observation(), NOON)
    assert file.name.startswith("20231115T120000.000000Z-")
    ((moment, state),) = read_states(tmp_path)
    assert (moment.timestamp(), dumps(state)) == (NOON, file.read_text())
    (tmp_path / "_states" / "0.json").write_text("{")
    assert len(read_states(tmp_path)) == 1
    assert "is left out" in caplog.text


def test_a_keeper_of_an_engine_with_its_own_time_stamps_windows_with_it(tmp_path):
    Keeper(tmp_path, "sim", lambda: 946_684_830.0).keep(observation())
    (written,) = tmp_path.rglob("*.parquet")
    assert "day=2000-01-01/hour=00" in written.as_posix()

"""Windows of reports as Parquet: every figure is in a row, and a file is whole or not there."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from headgate.errors import EngineError
from headgate_storm.samples import COLUMNS, write_samples
from headgate_storm.snapshot import read_snapshot
from storm_reports import report
from storm_rounds import round_text, supervisor, word_count

dataset = pytest.importorskip("pyarrow.dataset")
HOUR = 3_600_000


def rows(folder: Path) -> list[dict[str, object]]:
    found: list[dict[str, object]] = (
        dataset.dataset(folder, format="parquet", partitioning="hive").to_table().to_pylist()
    )
    return found


def test_every_figure_is_in_a_row(tmp_path: Path) -> None:
    snapshot = read_snapshot(round_text([supervisor("s1")], [word_count()]))
    (file,) = write_samples(tmp_path, [report()], snapshot)
    assert file.parent == tmp_path / "day=2023-11-14" / "hour=22"
    by_kind: dict[object, list[dict[str, object]]] = {}
    for row in rows(tmp_path):
        assert (row["version"], row["topology"], row["supervisor"], row["port"]) == (1, "wc", "s1", 6700)
        assert (row["number"], row["window"]) == (1, 5.0)
        assert row["time"] == datetime(2023, 11, 14, 22, 13, 25, tzinfo=UTC)
        by_kind.setdefault(row["kind"], []).append({name: value for name, value in row.items() if value is not None})
    (worker,) = by_kind["worker"]
    assert (worker["cpu"], worker["heap"], worker["dropped"], worker["sample"]) == (2.5, 64.0, 0, 1024)
    assert [(row["name"], row["cpu"], row.get("queue")) for row in by_kind["executor"]] == [
        ("wc/count/0", 0.5, 7),
        ("wc/lines/0", 1.0, None),
    ]
    lines = by_kind["task"][1]
    assert [lines[name] for name in ("task", "name", "received", "emitted", "acked")] == [4, "wc/lines/0", 0, 100, 90]
    assert [lines[name] for name in ("failed", "latencies", "latency")] == [1, 5, 60]
    flow = by_kind["flow"][1]
    assert [flow[name] for name in ("task", "name", "target", "target_name")] == [4, "wc/lines/0", 3, "wc/count/1"]
    assert [flow[name] for name in ("tuples", "bytes")] == [50, 1000]


def test_hours_are_folders_and_windows_are_added(tmp_path: Path) -> None:
    first = [report(), report(number=2, time=1_700_000_005_000 + HOUR)]
    assert len(write_samples(tmp_path, first)) == 2
    assert len(write_samples(tmp_path, [report(number=3)])) == 1
    workers = [row for row in rows(tmp_path) if row["kind"] == "worker"]
    assert sorted((row["number"], row["hour"]) for row in workers) == [(1, 22), (2, 23), (3, 22)]


def test_the_same_reports_again_add_nothing(tmp_path: Path) -> None:
    assert write_samples(tmp_path, [report(), report(number=2)]) == write_samples(
        tmp_path, [report(number=2), report()]
    )
    assert len([row for row in rows(tmp_path) if row["kind"] == "worker"]) == 2
    assert write_samples(tmp_path, []) == ()


def test_every_column_is_documented_and_there(tmp_path: Path) -> None:
    from headgate_storm import samples

    (file,) = write_samples(tmp_path, [report()])
    schema = dataset.dataset(file).schema
    assert schema.names == list(COLUMNS)
    table = samples.__doc__ or ""
    first_cells = {
        name.strip() for line in table.splitlines() if line.startswith("|") for name in line.split("|")[1].split(",")
    }
    assert set(COLUMNS) <= first_cells


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "day=2023-11-14").write_text("a file")
    with pytest.raises(EngineError, match="cannot be written"):
        write_samples(tmp_path, [report()])


def test_a_write_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(EngineError, match="No space left"):
        write_samples(tmp_path, [report()])
    assert [each for each in tmp_path.rglob("*") if each.is_file()] == []

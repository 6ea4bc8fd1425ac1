"""Windows of reports as rows of samples: what a worker saw, in the words of the model."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from headworks.cli.main import headworks
from headworks.problem import Problem
from headworks.samples.store import read_states
from headworks_storm.nimbus.rounds import Rounds
from headworks_storm.nimbus.snapshot import read_snapshot
from headworks_storm.samples import writer as module
from headworks_storm.samples.rows import sample_rows, write_samples
from headworks_storm.samples.writer import SampleWriter
from headworks_storm.workers.collector import Collector
from patience import PATIENCE
from storm_reports import report, report_line
from storm_rounds import round_text, supervisor, word_count

if TYPE_CHECKING:
    from pathlib import Path

dataset = pytest.importorskip("pyarrow.dataset")
SNAPSHOT = read_snapshot(round_text([supervisor("s1")], [word_count()]))


def test_a_report_is_rows_of_its_tasks_flows_and_shares() -> None:
    found: dict[str, list[dict[str, object]]] = {}
    for row in sample_rows(report(), SNAPSHOT):
        assert (row["engine"], row["origin"], row["number"]) == ("storm", "wc:s1:6700:1700000000000", 1)
        assert (row["end"] - row["start"]).total_seconds() == 5.0
        found.setdefault(row["kind"], []).append(row)
    tasks = {row["task"]: row for row in found["task"]}
    lines, count = tasks["wc/lines/0"], tasks["wc/count/0"]
    assert [lines[name] for name in ("role", "node", "port", "cpu", "emitted")] == ["spout", "s1", 6700, 20.0, 20.0]
    assert [count[name] for name in ("role", "received", "cpu", "queue")] == ["bolt", 10.0, 10.0, 7.0]
    assert {(row["task"], row["target"], row["tuples"], row["bytes"]) for row in found["flow"]} == {
        ("wc/lines/0", "wc/count/0", 10.0, 200.0),
        ("wc/lines/0", "wc/count/1", 10.0, 200.0),
    }
    (node,), (whole,) = found["node"], found["topology"]
    assert [node[name] for name in ("node", "port", "cpu", "memory")] == ["s1", 6700, 50.0, 64.0]
    assert [whole[name] for name in ("topology", "port", "latency")] == ["wc", 6700, 12.0]


def test_what_the_round_does_not_know_is_left_out() -> None:
    assert {row["kind"] for row in sample_rows(report(topology="other"), SNAPSHOT)} <= {"node"}


def test_the_same_reports_again_add_nothing(tmp_path: Path) -> None:
    first = write_samples(tmp_path, [report(), report(number=2)], SNAPSHOT)
    assert first == write_samples(tmp_path, [report(number=2), report()], SNAPSHOT)
    assert write_samples(tmp_path, [], SNAPSHOT) == ()


def test_an_archive_waits_for_a_round_that_names_tasks(tmp_path: Path) -> None:
    rounds = Rounds(lambda request: Problem.of(request).plan([-1] * Problem.of(request).n), shadow=True)
    with Collector(token="t") as collector, SampleWriter(collector, tmp_path, rounds, seconds=0.05):
        collector.take(report_line())
        time.sleep(0.2)
        assert list(tmp_path.iterdir()) == []
        rounds.answer(round_text([supervisor("s1")], [word_count()]))
    ((_, state),) = read_states(tmp_path)
    assert [each.id for each in state.topologies] == ["wc"]
    assert dataset.dataset(tmp_path, format="parquet", partitioning="hive").count_rows() == 6


def test_a_minute_that_cannot_be_written_is_counted_and_the_next_one_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds = Rounds(lambda request: Problem.of(request).plan([-1] * Problem.of(request).n), shadow=True)
    rounds.answer(round_text([supervisor("s1")], [word_count()]))
    for broken in (OverflowError("int too large"), OSError(28, "No space left on device"), MemoryError()):
        folder = tmp_path / type(broken).__name__

        def fail(*_: object, error: BaseException = broken) -> None:
            raise error

        with Collector(token="t") as collector, SampleWriter(collector, folder, rounds, seconds=0.05) as writer:
            with monkeypatch.context() as patch:
                patch.setattr(module, "write_samples", fail)
                collector.take(report_line())
                deadline = time.monotonic() + PATIENCE
                while not writer.lost:
                    assert time.monotonic() < deadline
                    time.sleep(0.01)
            collector.take(report_line(number=2))
        assert writer.lost == 1
        assert dataset.dataset(folder, format="parquet", partitioning="hive").count_rows() == 6


def test_the_oldest_samples_go_where_the_folder_holds_too_much(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    old = [tmp_path / "day=2020-01-01" / f"hour={hour}" / "samples-0.parquet" for hour in ("10", "11")]
    for file in old:
        file.parent.mkdir(parents=True)
        file.write_bytes(bytes(1 << 20))
    rounds = Rounds(lambda request: Problem.of(request).plan([-1] * Problem.of(request).n), shadow=True)
    rounds.answer(round_text([supervisor("s1")], [word_count()]))
    with Collector(token="t") as collector, SampleWriter(collector, tmp_path, rounds, megabytes=2):
        collector.take(report_line())
    assert [file.exists() for file in old] == [False, True]
    assert len(list(tmp_path.glob("day=2023-11-14/hour=22/*.parquet"))) == 1
    assert "its oldest files, 1, are gone" in caplog.text


def test_samples_are_refused_at_the_start_where_pyarrow_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    command = ["serve", "storm", "--endpoint", str(tmp_path / "endpoint.json"), "--collector", "127.0.0.1:0"]
    done = CliRunner().invoke(headworks, [*command, "--samples", str(tmp_path / "samples"), "-s", "even"])
    assert done.exit_code != 0
    assert "pyarrow" in str(done.exception or done.output)
    assert not (tmp_path / "endpoint.json").exists()

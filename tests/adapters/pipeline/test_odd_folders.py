"""Clocks, files and disks that are wrong, as the command meets them: the same results, or one sentence."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
from datetime import UTC, datetime, timedelta

import attrs
import pytest

from headworks.samples.store import read_states, write_rows, write_state
from headworks_pipeline.run import KNOWLEDGE, REQUEST
from headworks_pipeline.tables.store import Store
from patience import PATIENCE
from pipeline_command import pipeline_here
from pipeline_samples import FIRST, PLANT, task_row, write
from shell import HEADWORKS, headworks

HOUR = "2026-01-05T00"


@pytest.fixture
def raw(tmp_path):
    """An hour and a quarter of sound samples."""
    PLANT.write(tmp_path / "raw", windows=450)
    return tmp_path / "raw"


def run(raw, out, *words):
    """The command without a JVM, whatever its exit code is."""
    return headworks("pipeline", "run", raw, "-O", out, "--backend", "duckdb", "--json", *words)


def documents(out):
    return [json.loads((out / name).read_text()) for name in (KNOWLEDGE, REQUEST)]


def counted(out, hour=HOUR):
    return dict(Store(folder=out).manifest().hours[hour].rows)


@pytest.mark.parametrize("days", [365, 0.125])
def test_a_monitor_whose_clock_is_ahead_decides_nothing(raw, tmp_path, days):
    pipeline_here(raw, tmp_path / "clean")
    end = datetime.now(UTC) + timedelta(days=days)
    write_rows(raw, [task_row(number, start=end - timedelta(seconds=10), end=end) for number in range(30)])
    state = read_states(raw)[-1][1]
    alone = attrs.evolve(state, cluster=attrs.evolve(state.cluster, nodes=state.cluster.nodes[:1]))
    write_state(raw, attrs.evolve(alone, assignment=type(state.assignment)({})), end.timestamp())
    done = run(raw, tmp_path / "out")
    assert done.returncode == 1
    assert f"{end:%Y-%m-%dT%H} of 30 rows are not used: they are ahead of this machine's clock" in done.stderr
    assert f"{end:%Y-%m-%dT%H}: 30 of 30 rows are not used" in done.stderr
    assert documents(tmp_path / "out") == documents(tmp_path / "clean")
    assert json.loads(done.stdout)["rows"]["clock"] == 30
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["hours"][f"{end:%Y-%m-%dT%H}"] == {"clock": 30}
    assert sum(1 for _ in (tmp_path / "out" / "data").glob(f"*/*/hour={end:%Y-%m-%dT%H}")) == 0


def test_a_clock_that_is_a_little_ahead_is_believed(raw, tmp_path):
    end = datetime.now(UTC) + timedelta(minutes=50)
    write_rows(raw, [task_row(1, start=end - timedelta(seconds=10), end=end)])
    assert json.loads(pipeline_here(raw, tmp_path / "out").stdout)["hours"][-1] == f"{end:%Y-%m-%dT%H}"


def test_a_corrupt_file_that_is_removed_does_not_freeze_its_hour(raw, tmp_path):
    half = raw / FIRST / "half.parquet"
    half.write_bytes(b"PAR1 and nothing else")
    pipeline_here(raw, tmp_path / "out", "--max-rejected", 100)
    half.unlink()
    write(raw / FIRST / "late.parquet", [task_row(number) for number in range(100)])
    printed = json.loads(pipeline_here(raw, tmp_path / "out").stdout)
    assert (printed["hours"], printed["lost"]) == ([HOUR], [])
    pipeline_here(raw, tmp_path / "clean")
    assert documents(tmp_path / "out") == documents(tmp_path / "clean")
    assert counted(tmp_path / "out") == counted(tmp_path / "clean")
    assert list(counted(tmp_path / "out")) == [""]


def test_a_file_that_was_used_still_binds_its_hour(raw, tmp_path):
    late = raw / FIRST / "late.parquet"
    write(late, [task_row(number) for number in range(100)])
    pipeline_here(raw, tmp_path / "out")
    late.unlink()
    write(raw / FIRST / "later.parquet", [task_row(number) for number in range(200, 210)])
    printed = json.loads(pipeline_here(raw, tmp_path / "out").stdout)
    assert (printed["hours"], printed["lost"]) == ([], [HOUR])


def test_files_that_cannot_be_read_are_an_alarm_however_many_rows_the_others_have(raw, tmp_path):
    sound = sorted((raw / FIRST).glob("*.parquet"))
    for number in range(20 * len(sound)):
        (raw / FIRST / f"half-{number}.parquet").write_bytes(sound[0].read_bytes()[:5000])
    done = run(raw, tmp_path / "out")
    assert done.returncode == 1
    bad, there = 20 * len(sound), 21 * len(sound)
    assert f"{HOUR}: {bad} of {there} files cannot be read (95.2 %, at most 5 % may be)" in done.stderr
    assert run(raw, tmp_path / "same").returncode == 1
    shutil.rmtree(tmp_path / "same")
    assert run(raw, tmp_path / "same", "--max-rejected", "half-written file=96").returncode == 0


def test_what_is_no_file_is_not_waited_for(raw, tmp_path):
    hour = raw / FIRST
    os.mkfifo(hour / "pipe.parquet")
    os.mkfifo(hour / "compacted-pipe.parquet")
    os.mkfifo(raw / "_states" / "20260105T000000.000000Z-pipe.json")
    (hour / "loop.parquet").symlink_to(hour / "loop.parquet")
    (hour / "nowhere.parquet").symlink_to(hour / "not-there")
    (hour / "folder.parquet").mkdir()
    (raw / "day=2026-01-05" / "hour=05").symlink_to("hour=05")
    os.mkfifo(raw / "day=2026-01-06")
    done = run(raw, tmp_path / "out", "--compact", "--max-rejected", 100)
    assert done.returncode == 0, done.stderr
    assert counted(tmp_path / "out")["half-written file"] == 5
    assert headworks("pipeline", "compact", raw).returncode == 0


@pytest.mark.parametrize("place", ["day=2025-13-05/hour=00", "day=2025-01-05/hour=24", "day=0000-01-01/hour=00"])
def test_an_hour_that_there_is_not_is_a_folder_of_somebody_else(raw, tmp_path, place):
    pipeline_here(raw, tmp_path / "clean")
    write(raw / place / "samples-0.parquet", [task_row(1)])
    done = run(raw, tmp_path / "out", "--compact")
    assert (done.returncode, documents(tmp_path / "out")) == (0, documents(tmp_path / "clean")), done.stderr


def test_a_disk_that_is_full_is_one_sentence_and_the_next_run_is_right(raw, tmp_path):
    """A limit on the size of files stands for it: the system refuses the same write, by another number."""
    words = [HEADWORKS, "pipeline", "run", raw, "-O", tmp_path / "out", "--backend", "duckdb"]

    def full():
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    done = subprocess.run(
        list(map(str, words)), preexec_fn=full, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 4, done.stderr
    (line,) = [each for each in done.stderr.splitlines() if each.startswith("headworks:")]
    assert "cannot be written or read: File too large; committed results stay" in line
    assert "Traceback" not in done.stderr
    pipeline_here(raw, tmp_path / "out")
    pipeline_here(raw, tmp_path / "clean")
    assert documents(tmp_path / "out") == documents(tmp_path / "clean")


@pytest.mark.parametrize("where", ["/proc/nowhere/x", "loop/x"])
@pytest.mark.parametrize(
    "words",
    [
        ("pipeline", "run", "raw", "--backend", "duckdb", "-O"),
        ("plan", "dstorm:linear", "-s", "even", "-O"),
        ("compare", "dstorm:linear", "-s", "even", "--html"),
        ("schema", "-O"),
        ("simulate", "dstorm:linear", "-s", "even", "--duration", "10", "--html"),
    ],
)
def test_a_place_that_cannot_be_is_one_sentence(tmp_path, monkeypatch, words, where):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    write(tmp_path / "raw" / FIRST / "some.parquet", [task_row(number) for number in range(9)])
    done = headworks(*words, where)
    assert done.returncode in (2, 4)
    (line,) = [each for each in done.stderr.splitlines() if each.startswith("headworks: ")]
    assert where[:13] in line

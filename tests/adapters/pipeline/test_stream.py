"""The stream as a user runs it: what it learns file by file is what is learnt at once, in memory or in a file."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest

from headworks_pipeline.run import KNOWLEDGE, REQUEST
from headworks_pipeline.synthetic import Plant
from headworks_pipeline.tables.store import Store
from pipeline_command import LOCAL, PATIENCE, pipeline
from pipeline_samples import DUPLICATES, FIRST, task_row, write
from pipeline_tables import same
from shell import gone, running

pytestmark = pytest.mark.spark

WINDOWS = 20
"""Windows that the first files of the short test have."""
LATE = 20
"""Rows of a second file for an old hour; five are there already."""
MANY = "from headworks_pipeline.tables import on_spark; on_spark.FEW = 0; from headworks.cli.main import main; main()"
"""The program, for which any rows are many: they are kept in a file, not in memory."""


@pytest.mark.matrix
def test_a_file_that_comes_is_learnt_as_a_batch_learns_it(tmp_path):
    sound = Plant(tasks=2, nodes=2).write(tmp_path / "raw", windows=WINDOWS)
    words = ("pipeline", "run", "raw", "-O", "out", *LOCAL, "--follow", "1", "--json")
    with running(*words, folder=tmp_path) as (process, mark):
        assert wait_for(process, tmp_path / "out", sound) == {"": sound}
        write(tmp_path / "raw" / FIRST / "late.parquet", [task_row(number) for number in range(LATE)])
        assert wait_for(process, tmp_path / "out", sound + LATE) == {"": sound + LATE}
        process.send_signal(signal.SIGINT)
        errors = process.communicate(timeout=PATIENCE)[1]
        assert gone(mark) == []
    assert (process.returncode, "Traceback" in errors) == (130, False)
    pipeline(tmp_path / "raw", tmp_path / "once")
    assert same(tmp_path / "once", tmp_path / "out")


@pytest.mark.matrix
def test_a_stream_learns_what_batches_learn(folder, made, tmp_path):
    shutil.copytree(folder / "raw", tmp_path / "raw")
    out = tmp_path / "out"
    words = ("pipeline", "run", "raw", "-O", "out", *LOCAL, "--follow", "1", "--json")
    with running(*words, folder=tmp_path) as (process, mark):
        rows = wait_for(process, out, sum(made["rows"].values()))
        assert rows == made["rows"]
        assert documents(out) == documents(folder / "out")
        write(tmp_path / "raw" / FIRST / "late.parquet", [task_row(number) for number in range(225, 225 + LATE)])
        rows = wait_for(process, out, sum(made["rows"].values()) + LATE)
        assert rows == made["rows"] | {"": made["rows"][""] + LATE - 5, "duplicate": DUPLICATES + 5}
        process.send_signal(signal.SIGINT)
        errors = process.communicate(timeout=PATIENCE)[1]
        assert gone(mark) == []
    assert process.returncode == 130
    assert "Traceback" not in errors
    at_once = ("pipeline", "run", str(tmp_path / "raw"), "-O", str(tmp_path / "once"), *LOCAL, "--available")
    at_once = (*at_once, "--max-rejected", "15")
    subprocess.run([sys.executable, "-c", MANY, *at_once], check=True, timeout=PATIENCE)
    assert same(tmp_path / "once", out)
    assert not list(tmp_path.glob("once/**/judged"))


def documents(folder):
    return [(folder / name).read_text() for name in (KNOWLEDGE, REQUEST)]


def wait_for(process, folder, rows):
    """Rows by how they ended, when so many are committed and the documents are newer than that."""
    end = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < end:
        time.sleep(0.3)
        found = sum((Counter(each.rows) for each in Store(folder=folder).manifest().hours.values()), Counter())
        last = folder / REQUEST
        committed = max((each.stat().st_mtime_ns for each in folder.glob("manifests/*.json")), default=0)
        if found.total() == rows and last.exists() and last.stat().st_mtime_ns > committed:
            return dict(found)
    raise AssertionError(f"the stream did not learn; its exit code is {process.poll()}")

"""Runs that are killed, JVM and all: what the next one makes is what an undisturbed run makes."""

from __future__ import annotations

import os
import shutil
import signal
import time

import pytest

from headworks_pipeline.run import KNOWLEDGE, REQUEST
from headworks_pipeline.tables.store import TABLES, Store
from pipeline_command import LOCAL, PATIENCE, pipeline
from pipeline_tables import rows
from shell import gone, running

pytestmark = pytest.mark.spark


@pytest.mark.matrix  # test_store.py kills writers at random moments
def test_a_killed_run_is_made_up_for(folder, made, tmp_path):
    shutil.copytree(folder / "raw", tmp_path / "raw", copy_function=shutil.copy2)
    shutil.copytree(folder / "out", tmp_path / "out")
    (changed,) = (tmp_path / "raw").glob("day=*/hour=01/*.parquet")
    os.utime(changed)
    for name in (KNOWLEDGE, REQUEST):
        (tmp_path / "out" / name).unlink()
    end_halfway(tmp_path, signal.SIGKILL)
    assert half_written(tmp_path / "out"), "it was killed when it was over"
    assert Store(folder=tmp_path / "out").manifest() == Store(folder=folder / "out").manifest()
    pipeline(tmp_path / "raw", tmp_path / "out")
    for name in (KNOWLEDGE, REQUEST):
        assert (tmp_path / "out" / name).read_text() == (folder / "out" / name).read_text()
    for name in TABLES:
        assert rows(tmp_path / "out", name) == rows(folder / "out", name)
    assert not half_written(tmp_path / "out")


@pytest.mark.matrix
def test_a_run_that_is_told_to_end_ends_without_a_traceback(folder, made, tmp_path):
    """The signal goes to its JVM as well, as from a service manager."""
    shutil.copytree(folder / "raw", tmp_path / "raw")
    code, errors = end_halfway(tmp_path, signal.SIGTERM)
    assert code == 128 + signal.SIGTERM
    assert "Traceback" not in errors, errors


def end_halfway(folder, number):
    """Start a run, and send a signal to all its processes when tables are half written; exit code and errors."""
    end = time.monotonic() + PATIENCE
    with running("pipeline", "run", "raw", "-O", "out", *LOCAL, folder=folder) as (process, mark):
        while process.poll() is None and not half_written(folder / "out") and time.monotonic() < end:
            time.sleep(0.01)
        os.killpg(process.pid, number)
        errors = process.communicate(timeout=PATIENCE)[1]
        assert gone(mark) == []
    return process.returncode, errors


def half_written(folder):
    """Whether there is a snapshot with tables that the manifest does not name."""
    named = {each.snapshot for each in Store(folder=folder).manifest().hours.values()}
    return any(each.parent.name not in named for each in (folder / "data").glob("*/cells"))

"""Runs that are killed, JVM and all: what the next one makes is what an undisturbed run makes."""

from __future__ import annotations

import os
import shutil
import signal
import time

import pytest
from pyarrow import parquet

from headgate_pipeline.run import KNOWLEDGE, REQUEST
from headgate_pipeline.store import TABLES, Store
from pipeline_command import LOCAL, PATIENCE, pipeline
from shell import gone, start

pytestmark = pytest.mark.spark


def test_a_killed_run_is_made_up_for(folder, made, tmp_path):
    shutil.copytree(folder / "raw", tmp_path / "raw", copy_function=shutil.copy2)
    shutil.copytree(folder / "out", tmp_path / "out")
    (changed,) = (tmp_path / "raw").glob("day=*/hour=01/*.parquet")
    os.utime(changed)
    for name in (KNOWLEDGE, REQUEST):
        (tmp_path / "out" / name).unlink()
    process, mark = start("pipeline", "run", "raw", "-o", "out", *LOCAL, folder=tmp_path)
    end = time.monotonic() + PATIENCE
    try:
        while process.poll() is None and not half_written(tmp_path / "out") and time.monotonic() < end:
            time.sleep(0.01)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    assert gone(mark) == []
    assert half_written(tmp_path / "out"), "it was killed when it was over"
    assert Store(folder=tmp_path / "out").manifest() == Store(folder=folder / "out").manifest()
    pipeline(tmp_path / "raw", tmp_path / "out")
    for name in (KNOWLEDGE, REQUEST):
        assert (tmp_path / "out" / name).read_text() == (folder / "out" / name).read_text()
    for name in TABLES:
        assert rows(tmp_path / "out", name) == rows(folder / "out", name)
    assert not half_written(tmp_path / "out")


def half_written(folder):
    """Whether there is a snapshot with tables that the manifest does not name."""
    named = {each.snapshot for each in Store(folder=folder).manifest().hours.values()}
    return any(each.parent.name not in named for each in (folder / "data").glob("*/cells"))


def rows(folder, table):
    """The rows of a table, each with its hour, in no order that the files have."""
    store = Store(folder=folder)
    files = store.files(store.manifest(), table)
    found = [
        (each.parent.name, row) for each in files for row in parquet.read_table(each, partitioning=None).to_pylist()
    ]
    return sorted(map(repr, found))

"""The folder of results: what is committed counts, whole, and nothing else stays."""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
import sys
import time

import pytest

from headworks.errors import DocumentError, EngineError
from headworks.model import FrozenMap
from headworks_pipeline.hadoop import HadoopPath
from headworks_pipeline.learning.learn import table
from headworks_pipeline.tables.manifest import Hour, Manifest
from headworks_pipeline.tables.store import OLD, Store
from tiers import cases


def put(store, snapshot, *hours, table="cells"):
    place = store.stage(snapshot)
    for hour in hours:
        folder = place / table / f"hour={hour}"
        folder.mkdir(parents=True)
        (folder / "part-0.parquet").write_text(snapshot)


def made(**hours):
    return Manifest(hours=FrozenMap({hour: entry(each) for hour, each in hours.items()}))


def entry(snapshot):
    return Hour(inputs="i", snapshot=snapshot, files=FrozenMap({"cells": ("part-0.parquet",)}))


def names(store):
    return sorted(each.relative_to(store.folder / "data").as_posix() for each in store.folder.rglob("*.parquet"))


def test_only_what_is_committed_counts_and_the_rest_goes(tmp_path):
    store = Store(folder=tmp_path, grace=0)
    assert store.manifest() == Manifest()
    put(store, "one", "h1", "h2")
    put(store, "lost", "h2")
    store.commit(made(h1="one", h2="one"))
    assert names(store) == ["one/cells/hour=h1/part-0.parquet", "one/cells/hour=h2/part-0.parquet"]
    put(store, "two", "h2")
    assert [each.read_text() for each in store.files(store.manifest(), "cells")] == ["one", "one"]
    store.commit(store.manifest().with_hours(made(h2="two").hours))
    assert [each.read_text() for each in store.files(store.manifest(), "cells")] == ["one", "two"]
    assert names(store) == ["one/cells/hour=h1/part-0.parquet", "two/cells/hour=h2/part-0.parquet"]
    assert store.files(store.manifest(), "cells", ["h2"]) == store.files(store.manifest(), "cells")[1:]
    assert store.files(store.manifest(), "sums") == []


def test_rows_are_kept_with_their_hour(tmp_path):
    store = Store(folder=tmp_path)
    hour = Hour(inputs="i", snapshot="s", rows=FrozenMap({"": 3, "clock": 1}))
    put(store, "s", "h")
    store.commit(Manifest(hours=FrozenMap({"h": hour})))
    assert store.manifest().hours["h"] == hour
    assert store.manifest().with_hours({}, ["h"]) == Manifest(number=1)


def test_one_run_at_a_time(tmp_path):
    store = Store(folder=tmp_path / "new")
    with store.locked(), pytest.raises(EngineError, match="another run writes"), store.locked():
        pass
    with store.locked():
        pass


def test_no_commit_of_another_writer_is_replaced(tmp_path):
    """Two writers whose lock does not hold, as on some shared file systems."""
    store = Store(folder=tmp_path)
    first, second = (store.manifest().with_hours(made(h=each).hours) for each in ("one", "two"))
    store.commit(first)
    with pytest.raises(EngineError, match="was committed by another run"):
        store.commit(second)
    assert store.manifest() == first
    assert [each.name for each in (tmp_path / "manifests").iterdir()] == ["0000000001.json"]


def test_a_manifest_and_its_tables_stay_for_a_while_after_the_next(tmp_path):
    store = Store(folder=tmp_path, grace=60)
    for number, snapshot in enumerate(("one", "two", "three"), 1):
        put(store, snapshot, "h")
        store.commit(store.manifest().with_hours(made(h=snapshot).hours))
        os.utime(tmp_path / "manifests" / f"{number:010d}.json", (time.time() - 300 + 100 * number,) * 2)
    store.tidy(store.manifest())
    # The second was replaced now, the first 100 s ago.
    assert names(store) == ["three/cells/hour=h/part-0.parquet", "two/cells/hour=h/part-0.parquet"]
    assert [each.name for each in sorted((tmp_path / "manifests").iterdir())] == ["0000000002.json", "0000000003.json"]


def test_a_file_that_somebody_removed_is_an_error_and_no_gap(tmp_path):
    store = Store(folder=tmp_path)
    put(store, "s", "h")
    hour = Hour(inputs="i", snapshot="s", files=store.staged_files("s", "h"))
    store.commit(Manifest(hours=FrozenMap({"h": hour})))
    (file,) = store.files(store.manifest(), "cells")
    file.unlink()
    with pytest.raises(FileNotFoundError):
        store.read(lambda manifest: [each.read_text() for each in store.files(manifest, "cells")])


@pytest.mark.spark
def test_where_no_lock_holds_only_old_files_are_removed_and_no_empty_folder(tmp_path, spark):
    """The folder of a run that has written no file yet is empty, and may be older than any file."""
    before = time.time() - 2 * OLD
    for name, moment in (("old", before), ("young", time.time()), ("empty", before)):
        folder = tmp_path / "data" / name
        (folder / "cells" / "_temporary").mkdir(parents=True)
        if name != "empty":
            (folder / "part.parquet").touch()
        for each in (*folder.rglob("*"), folder):
            os.utime(each, (moment, moment))
    Store(folder=HadoopPath(f"file://{tmp_path}", spark)).tidy(Manifest())
    assert sorted(each.name for each in (tmp_path / "data").iterdir()) == ["empty", "young"]


@pytest.mark.parametrize("text", ["{", "[]", '{"version": 9, "hours": {}}', '{"version": 1, "hours": {"h": {}}}'])
def test_a_manifest_that_is_none_is_named(tmp_path, text):
    (tmp_path / "manifests").mkdir()
    (tmp_path / "manifests" / "0000000001.json").write_text(text)
    with pytest.raises(DocumentError, match=r"0000000001\.json"):
        Store(folder=tmp_path).manifest()


WRITER = """
import sys
from pathlib import Path
from headworks.model import FrozenMap
from headworks_pipeline.tables.manifest import Hour
from headworks_pipeline.tables.store import OLD, Store
store = Store(folder=Path(sys.argv[1]))
with store.locked():
    print("ready", flush=True)
    for number in range(int(sys.argv[2]), 1_000_000):
        place = store.stage(f"s{number}")
        for table in ("cells", "sums"):
            (place / table / "hour=h").mkdir(parents=True)
            (place / table / "hour=h" / "part-0.parquet").write_text(f"s{number}" * 10_000)
        hours = {"h": Hour(inputs=str(number), snapshot=f"s{number}", files=store.staged_files(f"s{number}", "h"))}
        store.commit(store.manifest().with_hours(hours))
"""
REPLACING = """
import sys
from pathlib import Path
import pyarrow as pa
from pyarrow import parquet
from headworks_pipeline.tables.manifest import Hour
from headworks_pipeline.tables.store import OLD, Store
store = Store(folder=Path(sys.argv[1]), grace=float(sys.argv[2]))
hours = ("h0", "h1", "h2")
with store.locked():
    for number in range(1_000_000):
        place = store.stage(f"s{number}")
        for table in ("cells", "sums"):
            for hour in hours:
                (place / table / f"hour={hour}").mkdir(parents=True)
                rows = pa.table({"state": [number] * 5})
                parquet.write_table(rows, place / table / f"hour={hour}" / "part-0.parquet")
        files = {hour: store.staged_files(f"s{number}", hour) for hour in hours}
        made = {hour: Hour(inputs="", snapshot=f"s{number}", files=files[hour]) for hour in hours}
        store.commit(store.manifest().with_hours(made))
        if number == 0:
            print("ready", flush=True)
"""


@contextlib.contextmanager
def replacing(folder, grace):
    """A process that replaces the tables of three hours as fast as it can."""
    words = [sys.executable, "-c", REPLACING, folder, str(grace)]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as writer:
        assert writer.stdout.readline() == b"ready\n"
        try:
            yield
        finally:
            writer.kill()


@pytest.mark.parametrize("grace", cases([0.1, 10], 1))
def test_readers_beside_a_writer_see_one_state(tmp_path, grace):
    """Every row of every table of every hour is of one commit; the files are looked at, not the manifest."""
    store, states = Store(folder=tmp_path), []

    def look(manifest):
        tables = [table(store, manifest, name, ["h0", "h1", "h2"]) for name in ("cells", "sums")]
        return [list(zip(each["hour"], each["state"].tolist(), strict=True)) for each in tables]

    with replacing(tmp_path, grace):
        end = time.monotonic() + 3
        while time.monotonic() < end or len(states) < 20 or len(set(states)) < 4:
            try:
                seen = store.read(look)
            except FileNotFoundError:  # a reader that is slower than the grace each time, and is told so
                assert grace < 1
                continue
            ((state,),) = [{state for one in seen for _, state in one}]
            assert seen == [[(hour, state) for hour in ("h0", "h1", "h2") for _ in range(5)]] * 2
            states.append(state)
    assert states == sorted(states)


def test_a_writer_that_is_killed_at_any_moment_leaves_whole_snapshots(tmp_path):
    store, rng, number, kills = Store(folder=tmp_path, grace=0), random.Random(1), 0, 0
    while kills < 5 or not number:  # on a busy machine some come before the first snapshot
        kills += 1
        writer = subprocess.Popen([sys.executable, "-c", WRITER, tmp_path, str(number)], stdout=subprocess.PIPE)
        with writer:
            assert writer.stdout.readline() == b"ready\n"
            time.sleep(rng.uniform(0.05, 0.3))
            writer.kill()
        manifest = store.manifest()
        if not manifest.hours:
            continue
        snapshot = manifest.hours["h"].snapshot
        for name in ("cells", "sums"):
            assert [each.read_text() for each in store.files(manifest, name)] == [snapshot * 10_000]
        number = int(snapshot[1:]) + 1
        with store.locked():
            store.tidy(manifest)
        assert names(store) == [f"{snapshot}/{name}/hour=h/part-0.parquet" for name in ("cells", "sums")]

"""The folder of results: what is committed counts, whole, and nothing else stays."""

from __future__ import annotations

import random
import subprocess
import sys
import time

import pytest

from headgate.errors import DocumentError, EngineError
from headgate.model import FrozenMap
from headgate_pipeline.tables.store import Hour, Manifest, Store


def put(store, snapshot, *hours, table="cells"):
    place = store.stage(snapshot)
    for hour in hours:
        folder = place / table / f"hour={hour}"
        folder.mkdir(parents=True)
        (folder / "part-0.parquet").write_text(snapshot)


def made(**hours):
    return Manifest(hours=FrozenMap({hour: Hour(inputs="i", snapshot=each) for hour, each in hours.items()}))


def names(store):
    return sorted(each.relative_to(store.folder / "data").as_posix() for each in store.folder.rglob("*.parquet"))


def test_only_what_is_committed_counts_and_the_rest_goes(tmp_path):
    store = Store(folder=tmp_path)
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
    assert store.manifest().with_hours({}, ["h"]) == Manifest()


def test_one_run_at_a_time(tmp_path):
    store = Store(folder=tmp_path / "new")
    with store.locked(), pytest.raises(EngineError, match="another run writes"), store.locked():
        pass
    with store.locked():
        pass


@pytest.mark.parametrize("text", ["{", "[]", '{"version": 9, "hours": {}}', '{"version": 1, "hours": {"h": {}}}'])
def test_a_manifest_that_is_none_is_named(tmp_path, text):
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(DocumentError, match=r"manifest\.json"):
        Store(folder=tmp_path).manifest()


WRITER = """
import sys
from pathlib import Path
from headgate.model import FrozenMap
from headgate_pipeline.tables.store import Hour, Manifest, Store
store = Store(folder=Path(sys.argv[1]))
with store.locked():
    print("ready", flush=True)
    for number in range(int(sys.argv[2]), 1_000_000):
        place = store.stage(f"s{number}")
        for table in ("cells", "sums"):
            (place / table / "hour=h").mkdir(parents=True)
            (place / table / "hour=h" / "part-0.parquet").write_text(f"s{number}" * 10_000)
        store.commit(Manifest(hours=FrozenMap({"h": Hour(inputs=str(number), snapshot=f"s{number}")})))
"""


def test_a_writer_that_is_killed_at_any_moment_leaves_whole_snapshots(tmp_path):
    store, rng, number = Store(folder=tmp_path), random.Random(1), 0
    for _ in range(5):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, tmp_path, str(number)], stdout=subprocess.PIPE)
        with writer:
            assert writer.stdout.readline() == b"ready\n"
            time.sleep(rng.uniform(0.05, 0.3))
            writer.kill()
        manifest = store.manifest()
        if not manifest.hours:
            continue
        snapshot = manifest.hours["h"].snapshot
        for table in ("cells", "sums"):
            assert [each.read_text() for each in store.files(manifest, table)] == [snapshot * 10_000]
        number = int(snapshot[1:]) + 1
        with store.locked():
            store.tidy(manifest)
        assert names(store) == [f"{snapshot}/{table}/hour=h/part-0.parquet" for table in ("cells", "sums")]
    assert number > 0

"""Samples that are gone: an empty, unmounted or expired folder takes no result back, in part or whole."""

from __future__ import annotations

import json
import shutil

import pytest

from headworks_pipeline.run import KNOWLEDGE, REQUEST
from headworks_pipeline.tables.job import Update, survey, update
from headworks_pipeline.tables.manifest import Hour, Manifest
from headworks_pipeline.tables.selection import Selection, select
from headworks_pipeline.tables.store import TABLES, Store
from pipeline_command import pipeline_here
from pipeline_samples import FIRST, task_row, write
from pipeline_tables import rows
from shell import headworks


@pytest.fixture
def results(folder, made, tmp_path):
    """What a run made of two hours, and a folder of samples in which nothing is."""
    shutil.copytree(folder / "out", tmp_path / "out")
    (tmp_path / "raw").mkdir()
    return tmp_path


def contents(out):
    tables = {name: rows(out, name) for name in TABLES}
    assert all(tables.values())
    return tables, [(out / name).read_bytes() for name in (KNOWLEDGE, REQUEST)]


@pytest.mark.spark
def test_an_empty_folder_is_an_error_and_every_table_stays(results):
    before = contents(results / "out")
    done = headworks("pipeline", "run", results / "raw", "-O", results / "out")
    assert (done.returncode, contents(results / "out")) == (2, before)
    assert "has no samples: is it mounted" in done.stderr
    assert "the results of 2 hours" in done.stderr


@pytest.mark.spark
def test_an_update_from_nothing_removes_nothing(results):
    """No session: nothing is left to compute."""
    before = contents(results / "out")
    said = []
    store = Store(folder=results / "out")
    with store.locked():
        done = update(None, survey(results / "raw", store), store, tell=said.append)
    assert done == Update(lost=("2026-01-05T00", "2026-01-05T01"))
    assert said == ["2 hours, 2026-01-05T00 to 2026-01-05T01, lack samples that are gone: their tables stay"]
    assert contents(results / "out") == before


@pytest.mark.spark
def test_a_new_hour_is_learnt_beside_those_whose_samples_expired(folder, results):
    """All raw files of both hours are gone, the states of the engine too, and a file for a third hour has come."""
    before, _ = contents(results / "out")
    late = [task_row(number) for number in range(720, 740)]
    write(results / "raw" / "day=2026-01-05/hour=02" / "samples-late.parquet", late)
    printed = json.loads(pipeline_here(results / "raw", results / "out").stdout)
    assert printed["hours"] == ["2026-01-05T02"]
    assert printed["lost"] == ["2026-01-05T00", "2026-01-05T01"]
    knowledge = json.loads((results / "out" / KNOWLEDGE).read_text())
    assert (knowledge["since"], knowledge["until"]) == ("2026-01-05T00", "2026-01-05T02")
    for name in TABLES:
        assert set(before[name]) <= set(rows(results / "out", name))
    # The capacity of the machine types is known from the states that an earlier run saw.
    old = json.loads((folder / "out" / REQUEST).read_text())
    assert json.loads((results / "out" / REQUEST).read_text())["cluster"] == old["cluster"]


@pytest.mark.spark
def test_an_hour_that_lost_some_of_its_files_stays_whole_until_it_is_forgotten(folder, results):
    """Raw files expire one by one: what is left would make a smaller hour, and a late file must not cause that."""
    shutil.rmtree(results / "raw")
    shutil.copytree(folder / "raw", results / "raw", copy_function=shutil.copy2)
    for name in ("samples-0-00000000.parquet", "wild.parquet"):
        (results / "raw" / FIRST / name).unlink()
    write(results / "raw" / FIRST / "late.parquet", [task_row(number) for number in range(225, 245)])
    before = contents(results / "out")
    store = Store(folder=results / "out")
    with store.locked():
        assert update(None, survey(results / "raw", store), store) == Update(lost=("2026-01-05T00",))
    assert contents(results / "out") == before
    forgotten = headworks("pipeline", "forget", "-O", results / "out", "2026-01-05T00", "--json")
    assert forgotten.returncode == 0, forgotten.stderr
    assert json.loads(forgotten.stdout) == {"hours": ["2026-01-05T00"]}
    assert list(store.manifest().hours) == ["2026-01-05T01"]
    printed = json.loads(pipeline_here(results / "raw", results / "out", "--max-rejected", 50).stdout)
    assert printed["hours"] == ["2026-01-05T00"]
    there = {each.name for each in (results / "raw" / FIRST).glob("[!.]*.parquet")}
    # What nothing was used of, as of half a file, may go.
    assert there - store.sources(store.manifest(), "2026-01-05T00") >= {
        "half.parquet",
        "future.parquet",
        "text.parquet",
    }
    assert store.sources(store.manifest(), "2026-01-05T00") >= {"bad.parquet", "late.parquet", "older.parquet"}


def test_an_hour_without_tables_cannot_be_forgotten(tmp_path):
    done = headworks("pipeline", "forget", "-O", tmp_path, "2026-01-05T00", "--before", "2026-01-01T00")
    assert done.returncode == 2
    assert "has no tables of 2026-01-05T00" in done.stderr


def manifest(*hours):
    return Manifest(hours={hour: Hour(inputs=hour, snapshot="s") for hour in hours})


def same_inputs(*hours):
    return {hour: hour for hour in hours}


def never(hour):
    raise AssertionError(hour)


def test_hours_are_made_that_are_new_or_changed_and_no_others():
    inputs = {"a": "a", "b": "other", "c": "c"}
    assert select(manifest("a", "b"), inputs, lambda hour: False) == Selection(make=("b", "c"))
    assert select(manifest("a", "b"), inputs, lambda hour: True) == Selection(make=("c",), lost=("b",))


def test_retention_keeps_the_newest_hours_with_samples_or_without():
    assert select(manifest("a", "b", "c"), same_inputs("b", "d"), never, keep=3) == Selection(
        make=("d",), lost=("c",), expired=("a",)
    )
    assert select(manifest("c"), same_inputs("a", "b", "c"), never, keep=1) == Selection()
    assert select(manifest("a", "b"), {}, never, keep=2) == Selection(lost=("a", "b"))


def tables_of(results, hour):
    return [each for table in TABLES for each in results.glob(f"out/data/*/{table}/hour={hour}")]


@pytest.mark.spark
def test_retention_is_a_setting(folder, results):
    shutil.rmtree(results / "raw")
    shutil.copytree(folder / "raw", results / "raw", copy_function=shutil.copy2)
    store = Store(folder=results / "out")
    with store.locked():
        done = update(None, survey(results / "raw", store, keep=1), store)
    assert done == Update(expired=("2026-01-05T00",))
    assert list(store.manifest().hours) == ["2026-01-05T01"]
    # What the last manifest named stays for a while for those who read it, and goes then.
    assert tables_of(results, "2026-01-05T00")
    Store(folder=store.folder, grace=0).tidy(store.manifest())
    assert not tables_of(results, "2026-01-05T00")

"""Compacted samples: tables stay as they are, none is made again, and samples expire when tables are made of them."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta

import pytest
from pyarrow import parquet

from headworks_pipeline.intake.compaction import PREFIX, compact
from headworks_pipeline.intake.files import digest, listing
from headworks_pipeline.run import expire
from headworks_pipeline.tables.job import Update, survey, update
from headworks_pipeline.tables.on_duckdb import duckdb_backend
from headworks_pipeline.tables.store import Store
from pipeline_samples import FIRST, START, task_row, write
from pipeline_tables import alike
from shell import headworks

LATER = START + timedelta(days=1)


@pytest.fixture
def raw(tmp_path):
    """An hour in thirty files, and one file of the next hour."""
    for number in range(30):
        write(tmp_path / "raw" / FIRST / f"samples-{number:02d}.parquet", [task_row(number)])
    write(tmp_path / "raw" / "day=2026-01-05/hour=01" / "samples-00.parquet", [task_row(360)])
    return tmp_path / "raw"


def digests(raw):
    return {hour: digest(stamps) for hour, stamps in listing(raw).items()}


def test_a_compacted_hour_is_the_same_input_beside_its_files_and_without_them(raw):
    before = digests(raw)
    assert compact(raw, LATER).replaced == 30
    assert digests(raw) == before
    assert [len(stamps) for stamps in listing(raw).values()] == [1, 1]
    assert compact(raw, datetime.now(UTC) + timedelta(minutes=11)).removed == 30
    assert digests(raw) == before
    # A file that is written again is another input.
    write(raw / FIRST / "samples-07.parquet", [task_row(7), task_row(77)])
    assert len(listing(raw)["2026-01-05T00"]) == 2
    assert digests(raw) != before


def test_tables_are_not_made_again_and_would_be_the_same(raw, tmp_path):
    pytest.importorskip("duckdb")
    store = Store(folder=tmp_path / "out")
    with duckdb_backend("500m") as backend, store.locked():
        update(backend, survey(raw, store), store)
        compact(raw, LATER)
        assert survey(raw, store).files == {}
        compact(raw, datetime.now(UTC) + timedelta(minutes=11))
        assert survey(raw, store).selection.lost == survey(raw, store).selection.make == ()
    anew = Store(folder=tmp_path / "anew")
    with duckdb_backend("500m") as backend, anew.locked():
        update(backend, survey(raw, anew), anew)
    assert [each.name.startswith(PREFIX) for each in (raw / FIRST).iterdir()] == [True]
    assert anew.manifest().hours["2026-01-05T00"].rows == store.manifest().hours["2026-01-05T00"].rows == {"": 30}
    for table in ("cells", "sums"):
        assert alike(tmp_path / "out", tmp_path / "anew", table)


@pytest.mark.matrix
@pytest.mark.spark
def test_samples_expire_only_when_tables_are_made_of_them(raw, folder, made, tmp_path):
    shutil.copytree(folder / "raw", tmp_path / "known", copy_function=shutil.copy2)
    shutil.copytree(folder / "out", tmp_path / "out")
    store, samples = Store(folder=tmp_path / "out"), tmp_path / "known"
    late = samples / FIRST / "late.parquet"
    write(late, [task_row(number) for number in range(400, 410)])
    expire(survey(samples, store), store.manifest(), keep=1)
    assert late.exists()
    late.unlink()
    expire(survey(samples, store), store.manifest(), keep=1)
    assert [each.name for each in (samples / FIRST).glob("[!.]*")] == []
    assert list((samples / "day=2026-01-05" / "hour=01").iterdir())
    assert update(None, survey(samples, store), store) == Update(lost=("2026-01-05T00",))


def test_compaction_is_a_command(raw):
    done = headworks("pipeline", "compact", raw)
    assert done.returncode == 0, done.stderr
    assert "30 files became 1" in done.stderr + done.stdout
    assert len(parquet.read_table(next((raw / FIRST).glob(f"{PREFIX}*")), partitioning=None)) == 30

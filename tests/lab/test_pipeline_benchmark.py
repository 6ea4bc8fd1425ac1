"""The pipeline's benchmark: its yardstick makes the pipeline's tables and no cheaper ones, its year has all hours."""

from __future__ import annotations

import math
import shutil

import pytest

from headworks_pipeline.run import PipelineJob, run
from headworks_pipeline.synthetic import Plant
from headworks_pipeline.tables.job import survey, update
from headworks_pipeline.tables.on_duckdb import duckdb_backend
from headworks_pipeline.tables.store import Store

pytest.importorskip("duckdb")
from headworks_lab.benchmarks.long_history import lengthen
from headworks_lab.benchmarks.plain_tables import TABLES, write_tables

PLANT = Plant(tasks=2, nodes=2, topologies=2, period=60.0)


def rows_of(files):
    """Rows in order of all that is not a figure of floats."""
    from pyarrow import parquet

    rows = [row for file in files for row in parquet.read_table(file, partitioning=None).to_pylist()]
    return sorted(rows, key=lambda row: [repr(value) for value in row.values() if not isinstance(value, float)])


@pytest.fixture
def samples(tmp_path):
    PLANT.write(tmp_path / "samples", windows=90)
    return tmp_path / "samples"


def test_both_make_the_same_tables(samples, tmp_path):
    store = Store(folder=tmp_path / "product")
    with store.locked(), duckdb_backend("500m") as backend:
        update(backend, survey(samples, store), store)
    write_tables(samples, tmp_path)
    for table in TABLES:
        ours = rows_of(store.files(store.manifest(), table))
        plain = rows_of(tmp_path.glob(f"{table}/hour=*/*.parquet"))
        assert len(ours) == len(plain) > 0
        for one, other in zip(ours, plain, strict=True):
            assert list(one) == list(other)
            for name, value in one.items():
                same = isinstance(value, float) and math.isclose(value, other[name], rel_tol=1e-9)
                assert same or value == other[name], (table, name, one, other)


def test_a_sample_that_came_twice_is_found(samples, tmp_path):
    (file, *_) = samples.glob("day=*/hour=*/*.parquet")
    shutil.copy(file, file.with_name("again.parquet"))
    with pytest.raises(ValueError, match="came twice"):
        write_tables(samples, tmp_path)


def test_a_long_history_is_that_of_as_many_hours(samples, tmp_path):
    job = PipelineJob(samples=samples, output=tmp_path / "product")
    opened = duckdb_backend("500m")
    first, *_ = run(job, lambda _: opened)
    lengthen(samples, job.output, 9)
    again, knowledge, _ = run(job, lambda _: opened)
    assert (len(first.hours), again.hours) == (2, ())
    assert (knowledge.since, knowledge.until) == ("2026-01-05T00", "2026-01-05T08")
    assert knowledge.samples == PLANT.rows * (4 * 90 + 60)

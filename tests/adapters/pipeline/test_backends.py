"""DuckDB and Spark make the same tables of the same files, and the one is chosen that suits."""

from __future__ import annotations

import json
import shutil
from datetime import timedelta

import pyarrow as pa
import pytest
from pyarrow import parquet

from headworks.errors import EngineError
from headworks.samples.store import arrow_schema
from headworks_pipeline.backends import MOST, choose
from headworks_pipeline.intake.files import SampleFile
from headworks_pipeline.run import KNOWLEDGE, REQUEST
from headworks_pipeline.synthetic import Plant
from headworks_pipeline.tables import on_spark
from headworks_pipeline.tables.job import Work, survey, update
from headworks_pipeline.tables.known import KnownTasks
from headworks_pipeline.tables.on_duckdb import TIMES, duckdb_backend
from headworks_pipeline.tables.on_spark import OnSpark
from headworks_pipeline.tables.selection import Selection
from headworks_pipeline.tables.store import TABLES, Store
from pipeline_arrivals import arrivals, deal
from pipeline_samples import FIRST, START, task_row, write
from pipeline_tables import alike, near, quarantined, rows
from shell import headworks

pytest.importorskip("duckdb")
QUOTED = """plant/pa'r"se`\\/0"""
"""Name of a task with all that ends a text or a name in SQL."""


@pytest.fixture(scope="module")
def raw(tmp_path_factory):
    """Everything that goes wrong, damaged pages among it."""
    folder = arrivals(tmp_path_factory.mktemp("backends") / "raw")
    write(folder / FIRST / "quoted.parquet", [task_row(400, task=QUOTED, topology="other's")])
    write(folder / FIRST / "damaged.parquet", [task_row(number) for number in range(500, 520)])
    damage(folder / FIRST / "damaged.parquet")
    return folder


def damage(file):
    """Zeros over the pages; the footer stays as it is."""
    data = bytearray(file.read_bytes())
    end = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    data[4:end] = bytes(end - 4)
    file.write_bytes(data)


def learnt(backend, samples, folder, **settings):
    store = Store(folder=folder)
    with store.locked():
        update(backend, survey(samples, store), store, **settings)
    return folder


EMPTY = "day=2026-01-05/hour=03"
MOMENT = pa.timestamp("us")


def odd(folder):
    """What hardly anybody writes, in a folder and a file whose names are patterns elsewhere."""
    names = {"topology": "tøpø🚀", "component": "zähler", "task": "tøpø🚀/zähler/0"}
    ends = [START + timedelta(seconds=each) for each in (3599.999999, 0.000001)]
    rows = [
        *(task_row(number, **names, cpu=cpu) for number, cpu in ((1, -0.0), (2, 5e-324), (3, 1e30), (4, 1e31))),
        *(task_row(number, cpu=None, memory=amount) for number, amount in ((5, float("-inf")), (6, float("nan")))),
        # Numbers before 0, and around multiples of 64; two samples are there twice.
        *(task_row(each, origin="early", end=START + timedelta(seconds=each + 2000)) for each in range(-70, 70, 7)),
        *(task_row(each, origin="early", end=START + timedelta(seconds=each + 2000)) for each in (-70, 63)),
        # Keys whose texts are the same, in other columns.
        task_row(200, target="node-0", node=None),
        task_row(200, target=None, node="node-0"),
        task_row(201, topology="", machine_type="", source=None),
        task_row(202, source="", role=None, received=0.0, memory=0.0, queue=5e-324),
        *(task_row(300, origin=str(end), end=end, start=end - timedelta(seconds=1)) for end in ends),
    ]
    rows = [row | {"start": min(row["start"], row["end"] - timedelta(seconds=1))} for row in rows]
    write(folder / FIRST / "s ä%25+[x].parquet", rows)
    moments = [1_000_000_000_000_000_000, -2_208_988_800_000_001, 2**63 - 1, 1 - 2**63]
    far = pa.array(moments, MOMENT).cast(pa.timestamp("us", tz="UTC"))
    clocks = pa.Table.from_pylist([task_row(400 + number) for number in range(len(moments))], arrow_schema())
    parquet.write_table(
        clocks.set_column(clocks.schema.get_field_index("end"), "end", far), folder / FIRST / "far.parquet"
    )
    zones = {"naive": MOMENT, "east": pa.timestamp("us", tz="Asia/Tokyo"), "ms": pa.timestamp("ms", tz="UTC")}
    for number, (name, kind) in enumerate(zones.items(), 340):
        schema = pa.schema([each.with_type(kind) if each.name in TIMES else each for each in arrow_schema()])
        one = pa.Table.from_pylist([task_row(number, origin=name)], arrow_schema()).cast(schema)
        parquet.write_table(one.replace_schema_metadata(arrow_schema().metadata), folder / FIRST / f"{name}.parquet")
    write(folder / EMPTY / "none.parquet", [])
    return folder


@pytest.fixture(scope="module")
def by_duckdb(raw):
    with duckdb_backend("500m", threads=2) as backend:
        return learnt(backend, raw, raw.parent / "duckdb")


def counted(folder):
    return {hour: dict(each.rows) for hour, each in Store(folder=folder).manifest().hours.items()}


@pytest.mark.matrix  # odd rows below are made by both, and test_job.py compares a run by Spark with DuckDB's answers
@pytest.mark.spark
@pytest.mark.parametrize("few", [on_spark.FEW, 0])
def test_both_make_the_same_tables(spark, raw, by_duckdb, tmp_path, monkeypatch, few):
    monkeypatch.setattr(on_spark, "FEW", few)
    by_spark = learnt(OnSpark(spark), raw, tmp_path / "spark")
    assert counted(by_spark) == counted(by_duckdb)
    for table in set(TABLES) - {"quarantine"}:
        assert alike(by_spark, by_duckdb, table), table
        assert schemas(by_spark, table) == schemas(by_duckdb, table)
    assert near(quarantined(by_spark), quarantined(by_duckdb))


@pytest.mark.matrix
@pytest.mark.spark
def test_many_sound_rows_are_read_again_for_each_table(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(on_spark, "FEW", 0)
    Plant(tasks=2, nodes=2).write(tmp_path / "raw", windows=20)
    by_spark = learnt(OnSpark(spark), tmp_path / "raw", tmp_path / "spark")
    with duckdb_backend("500m") as backend:
        by_duckdb = learnt(backend, tmp_path / "raw", tmp_path / "duckdb")
    assert counted(by_spark) == counted(by_duckdb)
    for table in set(TABLES) - {"quarantine"}:
        assert alike(by_spark, by_duckdb, table), table


@pytest.mark.spark
def test_a_file_that_goes_between_two_looks_at_it_is_an_error(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(on_spark, "FEW", 0)
    for name in ("a", "b"):
        write(tmp_path / "raw" / FIRST / f"{name}.parquet", [task_row(number, origin=name) for number in range(9)])
    prepared = on_spark.queries.prepared

    def removed(rows):
        (tmp_path / "raw" / FIRST / "b.parquet").unlink(missing_ok=True)
        return prepared(rows)

    monkeypatch.setattr(on_spark.queries, "prepared", removed)
    with pytest.raises(EngineError, match="Spark cannot make the tables"):
        learnt(OnSpark(spark), tmp_path / "raw", tmp_path / "out")
    assert counted(tmp_path / "out") == {}


@pytest.mark.spark
def test_rows_among_which_some_came_twice_are_joined_once_and_kept_for_all_tables(spark, tmp_path, monkeypatch):
    """The samples go before any table is made: what is kept is all that there is to make tables of."""
    monkeypatch.setattr(on_spark, "FEW", 0)
    raw = tmp_path / "raw"
    write(raw / FIRST / "a.parquet", [task_row(number % 50, memory=64.0) for number in range(60)])
    with duckdb_backend("500m") as backend:
        by_duckdb = learnt(backend, raw, tmp_path / "duckdb")
    prepared = on_spark.queries.prepared

    def removed(rows):
        shutil.rmtree(raw)
        return prepared(rows)

    monkeypatch.setattr(on_spark.queries, "prepared", removed)
    by_spark = learnt(OnSpark(spark), raw, tmp_path / "spark")
    assert counted(by_spark) == counted(by_duckdb) == {"2026-01-05T00": {"": 50, "duplicate": 10}}
    for table in ("cells", "levels", "sums"):
        assert alike(by_spark, by_duckdb, table), table


@pytest.fixture(scope="module")
def odd_rows(tmp_path_factory):
    """Folder of odd rows, and what DuckDB made of them."""
    folder = tmp_path_factory.mktemp("odd")
    raw = odd(folder / "odd [1]{a}*")
    with duckdb_backend("500m") as backend:
        return raw, learnt(backend, raw, folder / "duckdb")


def test_odd_rows_are_counted_one_by_one(odd_rows):
    assert counted(odd_rows[1]) == {
        "2026-01-05T00": {"": 32, "not a number": 2, "negative amount": 1, "clock": 4, "duplicate": 2},
        "2026-01-05T03": {},
    }
    far = {content["end"] for _, _, file, content in quarantined(odd_rows[1]) if file == "far.parquet"}
    assert far >= {"+33658-09-27T01:46:40.000Z", "1899-12-31T23:59:59.999Z", "+294247-01-10T04:00:54.775Z"}


@pytest.mark.spark
def test_both_take_odd_rows_alike(spark, odd_rows, tmp_path):
    raw, by_duckdb = odd_rows
    by_spark = learnt(OnSpark(spark), raw, tmp_path / "spark")
    assert counted(by_spark) == counted(by_duckdb)
    for table in ("cells", "levels", "sums"):
        assert alike(by_spark, by_duckdb, table), table
    assert near(quarantined(by_spark), quarantined(by_duckdb))


def schemas(folder, table):
    store = Store(folder=folder)
    return {
        tuple(zip(each.names, map(str, each.types), strict=True))
        for each in (parquet.read_schema(file) for file in store.files(store.manifest(), table))
    }


def test_a_damaged_file_is_not_used_at_all(by_duckdb):
    aside = [each for each in quarantined(by_duckdb) if each[2] == "damaged.parquet"]
    assert aside == [["hour=2026-01-05T00", "half-written file", "damaged.parquet", {"rows": 20}]]
    assert counted(by_duckdb)["2026-01-05T00"]["half-written file"] == 1 + 20


def test_an_hour_of_damaged_files_alone_has_no_tables(tmp_path):
    write(tmp_path / "raw" / FIRST / "damaged.parquet", [task_row(number) for number in range(20)])
    damage(tmp_path / "raw" / FIRST / "damaged.parquet")
    with duckdb_backend("500m") as backend:
        learnt(backend, tmp_path / "raw", tmp_path / "out")
    assert counted(tmp_path / "out") == {"2026-01-05T00": {"half-written file": 20}}
    assert len(quarantined(tmp_path / "out")) == 1


def test_duckdb_makes_hours_one_by_one_as_together(raw, by_duckdb):
    with duckdb_backend("500m") as backend:
        alone = learnt(backend, raw, raw.parent / "alone", chunk=1)
    assert counted(alone) == counted(by_duckdb)
    assert all(alike(alone, by_duckdb, table) for table in TABLES)


def test_duckdb_takes_rows_from_any_files(raw, by_duckdb):
    dealt = raw.parent / "dealt"
    shutil.copytree(raw / "_states", dealt / "_states")
    for hour in raw.glob("day=*/hour=*"):
        deal(hour, dealt / hour.relative_to(raw), whole=("damaged.parquet",))
    with duckdb_backend("500m") as backend:
        learnt(backend, dealt, raw.parent / "dealt-out")
    assert counted(raw.parent / "dealt-out") == counted(by_duckdb)
    assert all(alike(raw.parent / "dealt-out", by_duckdb, table, without=("file",)) for table in TABLES)


def test_the_command_needs_no_java(raw, tmp_path):
    words = ("pipeline", "run", raw, "-O", tmp_path / "out", "--json", "--max-rejected", 50)
    done = headworks(*words, JAVA_HOME="/nowhere", PATH="/nowhere")
    assert done.returncode == 0, done.stderr
    assert {"knowledge", "rows"} <= json.loads(done.stdout).keys()
    assert json.loads((tmp_path / "out" / "report.json").read_text())["backend"] == "duckdb"
    assert (tmp_path / "out" / KNOWLEDGE).exists()
    assert (tmp_path / "out" / REQUEST).exists()
    assert rows(tmp_path / "out", "cells")


def test_memory_that_is_none_is_an_error(raw, tmp_path):
    done = headworks("pipeline", "run", raw, "-O", tmp_path, "--backend", "duckdb", "--driver-memory", "much")
    assert done.returncode == 2
    assert "'much' is not an amount of memory" in done.stderr


def work(rows):
    file = SampleFile(path="f", hour="h", rows=rows)
    return Work(known=KnownTasks(), inputs={}, selection=Selection(), files={"h": [file]}, there={})


@pytest.mark.parametrize(("found", "asked", "master", "chosen"), [
    (work(10), "auto", None, "duckdb"),
    (work(MOST + 1), "auto", None, "spark"),
    (work(10), "auto", "spark://h:7077", "spark"),
    (work(10), "spark", None, "spark"),
    (work(MOST + 1), "duckdb", "local[2]", "duckdb"),
])  # fmt: skip
def test_the_engine_is_chosen_by_size(found, asked, master, chosen):
    assert choose(found, asked, master) == chosen

"""Nexmark's queries on a real cluster give the answers that DuckDB gives, as batches and as streams."""

from __future__ import annotations

import os
import time
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headworks_lab.nexmark import EventKind, Nexmark, kinds
from headworks_lab.spark.workload.events import SCHEMA, batch, emit
from nexmark_answers import CLOSED, SQL, rows, tables
from patience import PATIENCE

RATE = 100.0
"""Events a second: windows of ten seconds have a thousand, and people pause for more than ten."""


def written(folder, nexmark, count, parts=1):
    """A folder of files with the events, one part of them in each."""
    bounds = np.linspace(0, count, parts + 1).astype(int)
    for number, (first, stop) in enumerate(pairwise(bounds)):
        file = folder / f"{number}.parquet"
        pq.write_table(pa.Table.from_batches([batch(nexmark, first, stop)]), file)
        os.utime(file, (number + 1, number + 1))  # a stream reads the oldest first
    return str(folder)


@pytest.fixture(scope="module", params=[1, 2])
def events(request, spark, tmp_path_factory):
    """Some thousand events of a seed for Spark, and the same for DuckDB."""
    nexmark = Nexmark(seed=request.param, rate=RATE)
    folder = written(tmp_path_factory.mktemp("events"), nexmark, 3000)
    return nexmark, spark.read.schema(SCHEMA).parquet(folder), tables(nexmark, 3000)


@pytest.mark.spark
@pytest.mark.parametrize("name", SQL)
def test_a_batch_is_answered_as_duckdb_answers_it(events, name):
    from headworks_lab.spark.workload.queries import queries

    nexmark, frame, database = events
    found = rows(queries(nexmark.longest)[name](frame).collect())
    assert found == rows(database.execute(SQL[name]).fetchall())
    assert found


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.matrix if name != "q5" else ()) for name in SQL])
def test_a_stream_has_told_what_no_event_can_change(spark, tmp_path, name):
    from headworks_lab.spark.workload.queries import queries

    nexmark, count = Nexmark(seed=3, rate=RATE), 6000
    folder = written(tmp_path, nexmark, count, parts=4)
    source = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(folder)
    frame = queries(nexmark.longest)[name](source.withWatermark("time", "0 seconds"))
    query = frame.writeStream.format("memory").queryName(name).trigger(availableNow=True).start()
    assert query.awaitTermination(PATIENCE)
    found = rows(spark.table(name).collect())
    end = int(nexmark.times(np.array([count - 1]))[0])
    sql = CLOSED[name].format(end=end, longest=nexmark.longest)
    assert found == rows(tables(nexmark, count).execute(sql).fetchall())
    assert found


@pytest.mark.parametrize(("tasks", "rows"), [(1, 40.0), (3, 100.0), (7, 33.4), (4, 0.3)])
def test_any_number_of_tasks_makes_the_same_events(tasks, rows):
    nexmark, batches = Nexmark(seed=4, rate=RATE), 10
    ticks = [pa.record_batch([pa.array(range(tasks * batches))], names=["value"])]
    made = pa.Table.from_batches(emit(nexmark, rows, tasks, ticks))
    assert made.equals(pa.Table.from_batches([batch(nexmark, 0, int(rows * batches))]))


@pytest.mark.spark
@pytest.mark.slow
def test_the_source_of_a_query_makes_each_event_once(spark):
    from headworks_lab.spark.workload.nexmark import NexmarkQuery

    made = NexmarkQuery(name="q1", nexmark=Nexmark(seed=5, rate=RATE), rows=250.5, sources=3, partitions=2)
    before = spark.conf.get("spark.sql.shuffle.partitions")
    try:
        query = made.frame(spark).writeStream.format("memory").queryName("source").start()
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", before)
    deadline = time.monotonic() + PATIENCE
    while len(query.recentProgress) < 3:
        assert query.isActive, query.exception()
        assert time.monotonic() < deadline
        time.sleep(0.1)
    query.stop()
    found = spark.table("source").collect()
    bids = np.cumsum(kinds(np.arange(100_000)) == EventKind.BID)
    batches = next(number for number in range(1, 300) if bids[int(number * 250.5) - 1] >= len(found))
    assert rows(found) == rows(tables(made.nexmark, int(batches * 250.5)).execute(SQL["q1"]).fetchall())
    assert batches >= 3


@pytest.mark.spark
@pytest.mark.parametrize("mode", ["append", "complete", "update"])
def test_spark_refuses_the_average_of_all_auctions_as_a_stream(spark, tmp_path, mode):
    # why query 4 answers by window as a stream: once Spark takes this, it need not
    from pyspark.errors import AnalysisException

    from headworks_lab.spark.workload.queries import queries

    source = spark.readStream.schema(SCHEMA).parquet(str(tmp_path)).withWatermark("time", "0 seconds")
    whole = queries(1000)["q4"](source).groupBy("category").avg("average")
    with pytest.raises(AnalysisException, match=r"STREAMING|late rows|output mode"):
        whole.writeStream.format("noop").outputMode(mode).start().stop()

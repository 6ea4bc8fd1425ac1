"""Nexmark's queries on a real cluster give the answers that DuckDB gives, as batches and as streams."""

from __future__ import annotations

import datetime
import os
import time
from collections import Counter
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headgate.engines.nexmark import EventKind, Nexmark, kinds
from headgate_spark.workload.events import SCHEMA, batch, emit
from patience import PATIENCE

duckdb = pytest.importorskip("duckdb")

RATE = 100.0
"""Events a second: windows of ten seconds have a thousand, and people pause for more than ten."""
SQL = {
    "q1": "select auction, bidder, price::double * 0.908::double, time from bid",
    "q2": "select auction, price from bid where auction % 123 = 0",
    "q3": """
        select name, city, state, a.id from auction a join person p on a.seller = p.id
        where category = 10 and state in ('OR', 'ID', 'CA')""",
    "q4": "select category, avg(price) from won group by category",
    "q5": """
        select (time // 2000 - k) * 2000 as start, auction, count(*) from bid, range(5) back(k) group by start, auction
        qualify rank() over (partition by start order by count(*) desc) = 1""",
    "q7": """
        select auction, bidder, price, time from bid
        qualify rank() over (partition by time // 10000 order by price desc) = 1""",
    "q8": """
        select distinct p.id, name, p.time // 10000 * 10000 from person p join auction a
        on a.seller = p.id and a.time // 10000 = p.time // 10000""",
    "q11": """
        with marked as (select *, coalesce((time - lag(time) over own > 10000)::int, 1) as first from bid
                        window own as (partition by bidder order by time)),
        counted as (select *, sum(first) over (partition by bidder order by time) as session from marked)
        select bidder, count(*), min(time), max(time) + 10000 as until from counted group by bidder, session""",
}
WON = """
    create view won as select a.id, category, a.time, max(price) as price from auction a join bid b
    on b.auction = a.id and b.time >= a.time and b.time < a.expires group by a.id, category, a.time"""
"""Winning bids, for query 4."""
CLOSED = {
    **{name: SQL[name] for name in ("q1", "q2", "q3")},
    "q4": """
        select category, time // 10000 * 10000 as start, avg(price) from won
        group by category, start having start + 10000 + {longest} <= {end}""",
    "q5": f"select * from ({SQL['q5']}) where start + 10000 <= {{end}}",
    "q7": f"select * from ({SQL['q7']}) where time // 10000 * 10000 + 10000 <= {{end}}",
    "q8": f"select * from ({SQL['q8']}) as found(id, name, start) where start + 10000 <= {{end}}",
    "q11": f"select * from ({SQL['q11']}) where until <= {{end}}",
}
"""What a stream has told when its watermark has come to the last event: what no event can change any more."""


def tables(nexmark, count):
    """A database with the events, from the generator's arrays: none of Spark's rows is in it."""
    database, numbers = duckdb.connect(), np.arange(count)
    makers = (nexmark.persons, nexmark.auctions, nexmark.bids)
    for kind, make in zip(EventKind, makers, strict=True):
        columns = make(numbers[kinds(numbers) == kind])
        database.register(kind.name.lower(), pa.table({name: pa.array(each) for name, each in columns.items()}))
    database.execute(WON)
    return database


def written(folder, nexmark, count, parts=1):
    """A folder of files with the events, one part of them in each."""
    bounds = np.linspace(0, count, parts + 1).astype(int)
    for number, (first, stop) in enumerate(pairwise(bounds)):
        file = folder / f"{number}.parquet"
        pq.write_table(pa.Table.from_batches([batch(nexmark, first, stop)]), file)
        os.utime(file, (number + 1, number + 1))  # a stream reads the oldest first
    return str(folder)


def rows(found) -> Counter:
    """Rows in no order; times are ms since the epoch, and averages as equal as two orders of adding make them."""
    return Counter(tuple(map(plain, row)) for row in found)


def plain(value):
    if isinstance(value, datetime.datetime):
        return round(value.timestamp() * 1000)
    return float(f"{value:.12g}") if isinstance(value, float) else value


@pytest.fixture(scope="module", params=[1, 2])
def events(request, spark, tmp_path_factory):
    """Some thousand events of a seed for Spark, and the same for DuckDB."""
    nexmark = Nexmark(seed=request.param, rate=RATE)
    folder = written(tmp_path_factory.mktemp("events"), nexmark, 3000)
    return nexmark, spark.read.schema(SCHEMA).parquet(folder), tables(nexmark, 3000)


@pytest.mark.spark
@pytest.mark.parametrize("name", SQL)
def test_a_batch_is_answered_as_duckdb_answers_it(events, name):
    from headgate_spark.workload.queries import queries

    nexmark, frame, database = events
    found = rows(queries(nexmark.longest)[name](frame).collect())
    assert found == rows(database.execute(SQL[name]).fetchall())
    assert found


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.matrix if name != "q5" else ()) for name in SQL])
def test_a_stream_has_told_what_no_event_can_change(spark, tmp_path, name):
    from headgate_spark.workload.queries import queries

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
    from headgate_spark.workload.nexmark import NexmarkQuery

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

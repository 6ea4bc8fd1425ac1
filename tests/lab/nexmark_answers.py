"""The answers of Nexmark's queries, computed by DuckDB from the generator's arrays, for tests of every engine."""

from __future__ import annotations

import datetime
from collections import Counter

import duckdb
import numpy as np
import pyarrow as pa

from headworks_lab.nexmark import EventKind, kinds

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


def rows(found) -> Counter:
    """Rows in no order; times are ms since the epoch, and averages as equal as two orders of adding make them."""
    return Counter(tuple(map(plain, row)) for row in found)


def plain(value):
    if isinstance(value, datetime.datetime):
        return round(value.timestamp() * 1000)
    return float(f"{value:.12g}") if isinstance(value, float) else value

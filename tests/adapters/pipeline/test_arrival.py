"""Arrival of samples: an hour's tables are the same, whatever files its rows came in and whatever is read beside it.

On Spark; `test_backends.py` shows it on DuckDB, and that both make the same tables of these rows.
"""

from __future__ import annotations

import shutil

import pytest

from headworks.samples.store import STATES
from headworks_pipeline.tables.job import survey, update
from headworks_pipeline.tables.on_spark import OnSpark
from headworks_pipeline.tables.store import TABLES, Store
from pipeline_arrivals import arrivals, deal
from pipeline_tables import alike

pytestmark = [pytest.mark.spark, pytest.mark.matrix]


@pytest.fixture(scope="module")
def raw(tmp_path_factory):
    return arrivals(tmp_path_factory.mktemp("arrival") / "raw")


@pytest.fixture(scope="module")
def at_once(spark, raw):
    return learnt(spark, raw, raw.parent / "at-once")


def learnt(spark, samples, folder, **settings):
    store = Store(folder=folder)
    with store.locked():
        update(OnSpark(spark), survey(samples, store), store, **settings)
    return folder


def assert_the_same(one, other):
    hours = [{name: each.rows for name, each in Store(folder=each).manifest().hours.items()} for each in (one, other)]
    assert hours[0] == hours[1]
    for table in TABLES:
        assert alike(one, other, table, without=("file",)), table


def test_hours_are_made_one_by_one_as_together(spark, raw, at_once):
    alone = learnt(spark, raw, raw.parent / "alone", chunk=1)
    assert Store(folder=alone).manifest().number == 2
    assert_the_same(alone, at_once)


def test_rows_may_be_dealt_out_to_other_files(spark, raw, at_once):
    dealt = raw.parent / "dealt"
    shutil.copytree(raw / STATES, dealt / STATES)
    for hour in raw.glob("day=*/hour=*"):
        deal(hour, dealt / hour.relative_to(raw))
    assert_the_same(learnt(spark, dealt, raw.parent / "dealt-out"), at_once)

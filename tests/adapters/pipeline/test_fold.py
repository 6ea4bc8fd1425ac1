"""Learning hour by hour: the same as from all hours at once, however they came, and no hour is read twice."""

from __future__ import annotations

import shutil
import tempfile
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headworks.model import FrozenMap
from headworks_pipeline.learning.states import worth_keeping
from headworks_pipeline.run import KNOWLEDGE, PipelineJob, publish
from headworks_pipeline.synthetic import START
from headworks_pipeline.tables.histogram import RATE_STEPS, STEPS
from headworks_pipeline.tables.manifest import Hour, Manifest
from headworks_pipeline.tables.store import TABLES, Store
from pipeline_samples import levels

pa = pytest.importorskip("pyarrow")
SUMS = ("n", "sx", "sy", "sxx", "sxy", "syy", "received", "emitted")


def hour_of(number):
    return f"{START + timedelta(hours=number):%Y-%m-%dT%H}"


def series(rng, factor, windows):
    """Sums of the windows of one component, by cells."""
    rate = rng.uniform(100, 2000, windows)
    cpu = (0.02 * rate + 5) * factor * (1 + 0.03 * rng.standard_normal(windows))
    keys = np.stack([levels(rate, RATE_STEPS), levels(cpu, STEPS)])
    found, at = np.unique(keys, axis=1, return_inverse=True)
    amounts = (np.ones(windows), rate, cpu, rate * rate, rate * cpu, cpu * cpu, rate, 2 * rate)
    columns = {name: np.bincount(at.ravel(), each) for name, each in zip(SUMS, amounts, strict=True)}
    return {"x": found[0], "y": found[1], **columns, "peak": np.full(found.shape[1], cpu.max())}


def tables(seed, factor, windows):
    """Tables of an hour: a component measured in two ways, one that is not always there, and memory."""
    rng = np.random.default_rng(seed)
    parts = [("parse", "thread", windows), ("parse", "process", 40)] + [("count", "thread", 35)] * (seed % 3 > 0)
    cells = []
    for component, source, many in parts:
        names = {"topology": "t", "component": component, "machine_type": "big", "source": source}
        own = series(rng, factor, many)
        cells.append(pa.table({name: [each] * len(own["x"]) for name, each in names.items()} | own))
    used = {"topology": ["t"], "component": ["parse"], "machine_type": ["big"], "resource": ["memory"]}
    memory = pa.table(used | {"y": [200 + seed % 5], "n": [windows], "peak": [90.0 + seed % 7]})
    whole = pa.concat_tables(cells)
    return {"cells": whole.take(rng.permutation(len(whole))), "levels": memory}


def make(store, number, seed, factor=1.0, windows=60):
    """Commit the tables of an hour, in place of those that there were."""
    from pyarrow import parquet

    manifest, hour = store.manifest(), hour_of(number)
    snapshot = f"s{manifest.number + 1}"
    for name, rows in tables(seed, factor, windows).items():
        place = store.folder / "data" / snapshot / name / f"hour={hour}"
        place.mkdir(parents=True)
        parquet.write_table(rows, place / "part-0.parquet")
    counts = FrozenMap({"": windows, "clock": seed})
    made = Hour(inputs=str(seed), snapshot=snapshot, rows=counts, files=store.staged_files(snapshot, hour))
    store.commit(manifest.with_hours({hour: made}))


def learn(store, history):
    job = PipelineJob(samples=store.folder, output=store.folder, history=history)
    publish(job, store)
    return (store.folder / KNOWLEDGE).read_text()


def from_scratch(store, history, hours=None):
    """Knowledge of the same tables, of whom nothing was learnt yet."""
    with tempfile.TemporaryDirectory() as folder:
        other = Store(folder=Path(folder))
        shutil.copytree(store.folder / "data", other.folder / "data")
        other.commit(Manifest(hours=store.manifest().hours if hours is None else hours))
        return learn(other, history)


EVENT = st.one_of(
    # Most hours come in order: the newest again, or a later one. Others are late, or are forgotten.
    st.tuples(st.just("next"), st.integers(0, 3)),
    st.tuples(st.just("late"), st.integers(0, 40)),
    st.tuples(st.just("forget"), st.integers(0, 40)),
)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(EVENT, st.sampled_from([1.0, 1.0, 1.5, 0.6]), st.sampled_from([60, 60, 20]), st.booleans()),
                min_size=1, max_size=30), st.sampled_from([1, 3, 14]))  # fmt: skip
def test_hour_by_hour_is_as_from_scratch_in_whatever_order_hours_come(events, history):
    with tempfile.TemporaryDirectory() as folder:
        store, newest = Store(folder=Path(folder), grace=0), 0
        make(store, newest, 999)
        for seed, ((what, by), factor, windows, looked) in enumerate(events):
            newest += by if what == "next" else 0
            if what != "forget":
                make(store, newest if what == "next" else max(0, newest - by), seed, factor, windows)
            elif (hour := hour_of(newest - by)) in store.manifest().hours:
                store.commit(store.manifest().with_hours({}, [hour]))
            if looked:
                learn(store, history)
        assert learn(store, history) == from_scratch(store, history)


def test_a_change_is_told_whenever_it_is_learnt(tmp_path):
    """Neither hour by hour nor at once is nothing found, for what is found nowhere is equal as well."""
    store = Store(folder=tmp_path)
    for number in range(30):
        make(store, number, number, 1.5 if number >= 17 else 1.0)
        text = learn(store, 14)
    assert text == from_scratch(store, 14)
    assert f'"hour": "{hour_of(17)}"' in text
    assert f'"since": "{hour_of(17)}"' in text


def forbid(store, hours):
    """Remove the tables of some hours, without a word to the manifest: who reads them fails."""
    for hour in hours:
        for table in TABLES:
            for file in store.files(store.manifest(), table, [hour]):
                file.unlink()


def test_a_new_hour_is_learnt_without_a_look_at_those_before(tmp_path):
    store = Store(folder=tmp_path)
    for number in range(10):
        make(store, number, number)
    learn(store, 168)
    make(store, 10, 10)
    expected = from_scratch(store, 168)
    forbid(store, [hour_of(number) for number in range(10)])
    assert learn(store, 168) == expected


def test_the_newest_hour_made_again_is_learnt_without_a_look_at_those_before(tmp_path):
    store = Store(folder=tmp_path)
    for number in range(10):
        make(store, number, number)
        learn(store, 168)
    make(store, 9, 99)
    expected = from_scratch(store, 168)
    forbid(store, [hour_of(number) for number in range(9)])
    assert learn(store, 168) == expected


def test_without_news_nothing_is_read_and_nothing_written(tmp_path):
    store = Store(folder=tmp_path)
    for number in range(3):
        make(store, number, number)
    text = learn(store, 168)
    forbid(store, [hour_of(number) for number in range(3)])
    before = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*")}
    assert learn(store, 168) == text
    assert {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*")} == before


@pytest.mark.parametrize("name", [KNOWLEDGE, "data"])
def test_what_somebody_removed_is_made_again(tmp_path, name):
    store = Store(folder=tmp_path)
    for number in range(3):
        make(store, number, number)
    text = learn(store, 168)
    if name == KNOWLEDGE:
        (tmp_path / KNOWLEDGE).unlink()
    else:
        shutil.rmtree(*tmp_path.glob("data/*/learnt"))
        make(store, 3, 3)
        text = from_scratch(store, 168)
    assert learn(store, 168) == text


def test_another_history_is_learnt_anew(tmp_path):
    store = Store(folder=tmp_path)
    for number in range(10):
        make(store, number, number)
    texts = [learn(store, history) for history in (168, 3, 168)]
    assert texts[0] == texts[2] == from_scratch(store, 168)
    assert texts[1] == from_scratch(store, 3) != texts[0]


def test_hours_past_retention_have_taught_what_they_taught(tmp_path):
    store = Store(folder=tmp_path, grace=0)
    for number in range(10):
        make(store, number, number)
        learn(store, 168)
    make(store, 10, 10)
    expected = from_scratch(store, 168)
    store.commit(store.manifest().without([hour_of(number) for number in range(8)]))
    assert learn(store, 168) == expected
    make(store, 9, 99)
    assert '"since": "' + hour_of(0) in learn(store, 168)


def test_history_moves_on_by_a_seventh(tmp_path):
    store = Store(folder=tmp_path)
    first = []
    for number in range(20):
        make(store, number, number)
        first.append(learn(store, 14).partition('"since": "')[2][:13])
    # START is an even hour since 1970, so blocks are hours 0 and 1, 2 and 3, ...
    assert first == [hour_of(max(0, number // 2 * 2 - 12)) for number in range(20)]


def test_old_states_are_few_and_none_is_far_from_a_late_hour():
    for last in (*range(1, 200), 511, 512, 513, 1000):
        kept = [hours for hours in range(1, last + 1) if worth_keeping(hours, last)]
        assert kept[-1] == last
        assert len(kept) <= 3 * (1 + np.log2(last) / 3)
        for late in range(1, last):
            before = max((hours for hours in kept if hours <= last - late), default=0)
            assert last - before <= 16 * late

"""Changes in real databases, by several processes at once, and killed at random moments."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine, text

from headworks.errors import DocumentError, EngineError
from headworks.model import FrozenMap, Slot
from headworks_manager.database import tables
from headworks_manager.database.connection import _address, opened, transaction
from headworks_manager.database.reschedulings import Reschedulings
from headworks_manager.database.store import Author, Store
from headworks_manager.rules.indication import HOLD, Trigger
from manager_databases import check_consistent, emptied, postgresql, rows
from patience import PATIENCE

ANN = Author(who="ann", why="a test")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with postgresql(tmp_path_factory.mktemp("postgresql")) as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'state' / 'manager.sqlite'}"
    return emptied(request.getfixturevalue("server"))


@pytest.fixture
def store(url, clock):
    with opened(url) as engine:
        yield Store(engine, clock)


def test_a_change_has_who_when_and_why(store, clock):
    store.set("t", {"priority": 5, "desired_nodes": 8}, ANN)
    clock.now += 1000
    store.trigger(Trigger(topology="t", on=True, source="bolt"), Author(who="ann"))
    trigger, first = store.history("t")
    assert (first.who, first.why, first.at, first.action, first.verdict) == (
        "ann",
        "a test",
        1_800_000_000_000,
        "set",
        "new",
    )
    assert (trigger.who, trigger.at, trigger.verdict) == ("bolt by ann", clock.now, "on")
    assert trigger.before["active"] is False
    assert trigger.after["active"] is True
    assert store.indications()["t"].level == 0


def test_an_ended_hold_is_in_the_history_with_the_time_of_its_end(store, clock):
    store.set("t", {}, ANN)
    begin = clock.now
    store.trigger(Trigger(topology="t", on=True, source="person"), ANN)
    clock.now += 10_000
    assert store.trigger(Trigger(topology="t", on=False, source="person"), ANN).verdict == "pending"
    clock.now += HOLD
    assert store.indications()["t"].active is False
    store.set("t", {"priority": 3}, ANN)
    changed, settle, *_ = store.history("t")
    assert (settle.action, settle.verdict, settle.at) == ("settle", "off", begin + HOLD)
    assert changed.before == settle.after


def test_what_is_refused_leaves_nothing(store):
    store.set("t", {"desired_nodes": 2}, ANN)
    with pytest.raises(DocumentError, match="raise the desired ones"):
        store.set("t", {"minimum_nodes": 3, "priority": 1}, ANN)
    with pytest.raises(DocumentError, match="did you mean t"):
        store.trigger(Trigger(topology="T", on=True, source="person"), ANN)
    with pytest.raises(DocumentError, match="no topology u is registered"):
        store.history("u")
    assert len(store.history()) == 1
    assert store.indications()["t"].priority is None


def test_what_is_said_again_and_changes_nothing_is_counted_where_it_was_said_first(store, clock):
    store.set("t", {}, ANN)
    for number in (1, 1, 1, 2, 3, 4):
        clock.now += 1000
        store.trigger(Trigger(topology="t", on=True, source="bolt", sequence=number), Author(who=f"at {number}"))
    store.trigger(Trigger(topology="t", on=True, source="other"), ANN)
    other, renewed, repeated, on, _ = store.history("t")
    assert [(each.verdict, each.times) for each in (on, repeated, renewed, other)] == [
        *(("on", 1), ("repeated", 2), ("renewed", 3), ("renewed", 1)),
    ]
    assert (renewed.at, renewed.until) == (clock.now - 2000, clock.now)
    assert (renewed.source, renewed.who) == ("bolt", "bolt by at 4")
    clock.now += HOLD
    store.trigger(Trigger(topology="t", on=False, source="bolt"), ANN)
    store.trigger(Trigger(topology="t", on=False, source="bolt"), ANN)
    assert [(each.verdict, each.times) for each in store.history("t")][:2] == [("renewed", 1), ("off", 1)]
    check_consistent(store, store.engine)


def test_the_history_keeps_the_newest_changes(store):
    for number in range(20):
        store.set(f"t{number % 2}", {"priority": number}, ANN)
    newest = store.history(limit=7)
    assert store.prune(7) == 13
    assert store.history(limit=99) == newest
    assert store.prune(7) == 0


def test_a_topology_that_is_removed_leaves_its_history_and_may_come_again(store):
    store.set("t", {"priority": 3}, ANN)
    store.trigger(Trigger(topology="t", on=True, source="bolt", sequence=9), ANN)
    done = store.remove("t", Author(who="ann", why="a slip"))
    assert (done.action, done.verdict, done.why, done.after) == ("remove", "removed", "a slip", {})
    assert done.before["active"] is True
    assert store.indications() == {}
    assert [each.verdict for each in store.history("t")] == ["removed", "on", "new"]
    with pytest.raises(DocumentError, match="no topology t is registered"):
        store.remove("t", ANN)
    store.set("t", {}, ANN)
    assert store.trigger(Trigger(topology="t", on=True, source="bolt", sequence=1), ANN).verdict == "on"
    check_consistent(store, store.engine)


def test_a_source_that_is_forgotten_begins_anew(store):
    store.set("t", {}, ANN)
    for name in ("bolt-1", "bolt-2"):
        store.trigger(Trigger(topology="t", on=True, source=name, sequence=9), ANN)
    done = store.forget("t", "bolt-1", Author(who="ann", why="its numbers were wrong"))
    assert (done.verdict, done.why) == ("forgotten", "the source bolt-1: its numbers were wrong")
    assert store.trigger(Trigger(topology="t", on=False, source="bolt-1", sequence=1), ANN).verdict == "pending"
    assert store.trigger(Trigger(topology="t", on=False, source="bolt-2", sequence=1), ANN).verdict == "late"
    with pytest.raises(DocumentError, match="bolt-3 has sent no trigger of t, did you mean bolt-"):
        store.forget("t", "bolt-3", ANN)
    check_consistent(store, store.engine)


def test_odd_texts_are_kept_or_made_printable(store):
    store.set("größe-漢字", {}, Author(who="ann", why="it's \0 a 'quote'; DROP TABLE x;\n" + "y" * 5000))
    (change,) = store.history("größe-漢字")
    assert change.why.startswith("it's   a 'quote'; DROP TABLE x; yyy")
    assert len(change.why) == 2000


def test_the_versions_make_the_tables_of_the_code(url):
    with opened(url) as engine, transaction(engine) as connection:
        context = MigrationContext.configure(connection, opts={"version_table": "headworks_version"})
        assert compare_metadata(context, tables.metadata) == []


def test_an_allocation_of_many_tasks_is_kept_whole(url):
    before = FrozenMap({f"topology-1-7/component/{task}": Slot("node-1", 6700) for task in range(5000)})
    with opened(url) as engine:
        kept = Reschedulings(engine)
        kept.begin("c", ("topology-1-7",), (), before)
        (found,) = kept.open("c")
    assert found.before == before


def test_a_database_of_a_newer_version_is_refused(url):
    with opened(url) as engine, transaction(engine) as connection:
        own = connection.execute(text("SELECT version_num FROM headworks_version")).scalar_one()
        connection.execute(text("UPDATE headworks_version SET version_num = '9999'"))
    with pytest.raises(EngineError, match="newer version"), opened(url):
        pass
    with pytest.raises(EngineError), opened(url):  # and it is left as it was
        pass
    if not url.startswith("sqlite"):  # the next test empties it
        raw = create_engine(_address(url))
        with raw.begin() as connection:
            connection.execute(text(f"UPDATE headworks_version SET version_num = '{own}'"))
        raw.dispose()


def test_the_file_is_its_owner_s_alone(tmp_path):
    with opened(str(tmp_path / "a" / "file.sqlite")):
        assert stat.S_IMODE((tmp_path / "a" / "file.sqlite").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("nosuch://x", "address is none"),
        ("sqlite:///:memory:", "in memory"),
        ("postgresql://ann:secret@127.0.0.1:1/x", "refused"),
        ("/proc/no/file", "cannot be written"),
    ],
)
def test_a_database_out_of_reach_is_one_error(wrong, said):
    with pytest.raises((DocumentError, EngineError), match=said) as caught, opened(wrong):
        pass
    assert "secret" not in str(caught.value)


WRITER = """
import sys
from headworks_manager.database.connection import opened
from headworks_manager.rules.indication import Trigger
from headworks_manager.database.store import Author, Store
url, name, count = sys.argv[1:]
with opened(url) as engine:
    store = Store(engine)
    for number in range(int(count)):
        topology = f"t{number % 3}"
        store.set(topology, {"priority": number, "hold": 0}, Author(who=name))
        store.trigger(Trigger(topology=topology, on=number % 2 == 0, source=name, sequence=number), Author(who=name))
        print(number, flush=True)
"""


def writer(url, name, count):
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, url, name, str(count)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_two_managers_at_once_lose_no_change(url):
    """They begin with a database without tables, so they make these at once too."""
    count = 40
    processes = [writer(url, name, count) for name in ("ann", "bob")]
    for process in processes:
        _, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, errors
    with opened(url) as engine:
        changes = check_consistent(Store(engine), engine)
        assert sum(each.action == "set" for each in changes) == 2 * count
        assert sum(each.action == "trigger" for each in changes) == 2 * count
        assert {row["sequence"] for row in rows(engine, tables.sources)} == {count - 1, count - 2, count - 3}


def test_threads_of_one_manager_lose_no_change(store, url):
    def change(number):
        store.set(f"t{number % 2}", {"priority": number}, ANN)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(change, range(40)))
    with opened(url) as engine:
        assert len(check_consistent(store, engine)) == 40


@pytest.mark.parametrize("kill", range(4))
def test_killed_at_any_moment_the_database_is_consistent(kill, tmp_path):
    """Two kills fall into the making of the tables, the others into changes; what was confirmed is there."""
    path, chance = tmp_path / "manager.sqlite", random.Random(kill)
    process = writer(str(path), "ann", 100_000)
    confirmed = []
    if kill < 2:
        while not path.exists() and process.poll() is None:
            pass
    else:
        confirmed = [process.stdout.readline() for _ in range(chance.randint(1, 40))]
    for _ in range(chance.randint(0, 20_000)):
        pass
    os.kill(process.pid, signal.SIGKILL)
    rest, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == -signal.SIGKILL
    numbers = [int(line) for line in (*confirmed, *rest.splitlines(keepends=True)) if line.endswith("\n")]
    with opened(str(path)) as engine:
        store = Store(engine)
        changes = check_consistent(store, engine)
        triggers = sum(each.action == "trigger" for each in changes)
        assert len(numbers) <= triggers <= len(numbers) + 1
        store.set("after", {"priority": 1}, ANN)
    with sqlite3.connect(path) as raw:
        assert raw.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    raw.close()
    assert Path(path).exists()

"""`headworks priority serve --kafka` on a real broker: a process of its own, and topics as others see them."""

from __future__ import annotations

import json
import random
import signal
import sqlite3
import time
import uuid
from contextlib import closing, contextmanager

import pytest

pytest.importorskip("jgo")
pytest.importorskip("confluent_kafka")

from headworks_local.kafka.broker import LocalKafka
from headworks_manager.database.connection import opened
from headworks_manager.database.history import Author
from headworks_manager.database.store import Store
from manager_databases import check_consistent
from manager_kafka import delete, receive, send
from patience import PATIENCE
from shell import gone, headworks, running

pytestmark = [pytest.mark.network, pytest.mark.usefixtures("java")]
COUNT = "SELECT coalesce(sum(times), 0) FROM headworks_history WHERE action = 'trigger'"


@pytest.fixture(scope="module")
def broker(java):
    with LocalKafka() as made:
        yield made


@pytest.fixture
def topic():
    return f"triggers-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def database(tmp_path):
    path = tmp_path / "p.sqlite"
    with opened(str(path)) as engine:
        Store(engine).set("t", {"priority": 5, "hold": 0}, Author(who="ann"))
    return path


@contextmanager
def serving(broker, topic, database, *words):
    """A manager on a topic, without the lines that it begins with."""
    folder = database.parent
    more = ("--listen", "127.0.0.1:0", "--database", database, "--token", folder / "token", "--json", *words)
    where = f"{broker.bootstrap}/{topic}"
    with running("priority", "serve", "--kafka", where, *more, folder=folder) as (process, mark):
        assert "url" in json.loads(process.stdout.readline())
        process.mark = mark
        yield process


def told(process, *, until=None, limit=None):
    """What it says on stdout, a document a line, up to a verdict or a number of lines."""
    lines = []
    while len(lines) != limit and not (lines and lines[-1]["verdict"] == until):
        lines.append(json.loads(process.stdout.readline()))
    return lines


def trigger(number, *, on=None, source="bolt"):
    return {"topology": "t", "on": number % 2 == 0 if on is None else on, "source": source, "sequence": number}


def recorded(database):
    """The triggers in the history of a database that nobody changes meanwhile."""
    with opened(str(database)) as engine:
        changes = check_consistent(Store(engine), engine)
    return [each for each in changes if each.action == "trigger" for _ in range(each.times)]


def count(database):
    with closing(sqlite3.connect(database, timeout=PATIENCE)) as connection:
        return connection.execute(COUNT).fetchone()[0]


def wait_for(number, database):
    """Until so many triggers are in the history."""
    deadline = time.monotonic() + PATIENCE
    while count(database) < number:
        assert time.monotonic() < deadline, count(database)
        time.sleep(0.05)


def test_triggers_arrive_and_what_is_none_goes_to_the_dead_letters(broker, topic, database):
    with serving(broker, topic, database) as process:
        wrong = [
            b"[",
            None,
            b"\xff",
            {**trigger(9), "topology": "x"},
            b"y" * 70_000,
            rb'{"\ud800":1,"\u0000":2,"\ud800":3}',
        ]
        send(broker, topic, [trigger(1), trigger(2), *wrong, trigger(2), trigger(1), trigger(4)])
        lines = told(process, limit=11)
        dead = receive(broker, f"{topic}.dead", 6)  # what a manager has not sent the next one sends
    words = [each["verdict"] for each in lines]
    assert words == ["renewed", "on", *["refused"] * 6, "repeated", "late", "renewed"]
    assert lines[5]["pointer"] == "/topology"
    assert lines[5]["message"].startswith(f"message 5 of {topic}/0: no topology x is registered")
    assert [each.verdict for each in recorded(database)] == ["renewed", "on", "repeated", "late", "renewed"]
    assert recorded(database)[1].who == f"bolt by kafka {topic}/0@1"
    assert [each.value() for each in dead] == [
        b"[",
        b"",
        b"\xff",
        json.dumps(wrong[3]).encode(),
        b"y" * 60_000,
        wrong[5],
    ]
    said = [{name: value.decode() for name, value in each.headers()} for each in dead]
    assert [each["offset"] for each in said] == ["2", "3", "4", "5", "6", "7"]
    assert said[3]["pointer"] == "/topology"
    assert (said[4]["size"], said[4]["topic"], said[4]["partition"]) == ("70000", topic, "0")
    assert "70000 bytes, more than 65536" in said[4]["error"]
    assert (said[5]["pointer"], said[5]["error"]) == (r"/\ud800", "this key stands twice in one object")


@pytest.mark.matrix
@pytest.mark.parametrize("kill", range(3))
def test_killed_anywhere_each_trigger_is_recorded_once(broker, topic, database, kill):
    send(broker, topic, [trigger(number) for number in range(1500)])
    chance = random.Random(kill)
    for turn in range(3):
        before = count(database)
        with serving(broker, topic, database) as process:
            wait_for(before + 1, database)
            time.sleep(chance.uniform(0, 0.3))
            process.kill()
        # Each says something else than the one before it: what is said again is counted there.
        send(broker, topic, [trigger(1500 + before, on=turn % 2 == 0)])
    with serving(broker, topic, database):
        wait_for(1503, database)
        send(broker, topic, [b"the end"])
        receive(broker, f"{topic}.dead", 1)
    where = [each.who for each in recorded(database)]
    assert where == [f"bolt by kafka {topic}/0@{offset}" for offset in range(1503)]


def test_two_managers_at_once_record_each_trigger_once(broker, topic, database):
    with serving(broker, topic, database), serving(broker, topic, database):
        send(broker, topic, [trigger(number) for number in range(2000)])
        wait_for(2000, database)
        send(broker, topic, [b"the end"])
        receive(broker, f"{topic}.dead", 1)
    assert [each.who.rpartition("@")[2] for each in recorded(database)] == [str(each) for each in range(2000)]


@pytest.mark.matrix
def test_a_broker_that_is_gone_is_said_and_comes_back(broker, topic, database):
    with serving(broker, topic, database) as process:
        send(broker, topic, [trigger(0)])
        assert told(process, until="on")[-1]["topology"]["level"] == 0
        broker.kill()
        try:
            held = told(process, until="held")[-1]
            assert f"triggers wait in Kafka: {topic} at {broker.bootstrap}" in held["message"]
            assert headworks("priority", "list", "--database", database).returncode == 0
        finally:
            broker.restart()
        assert told(process, until="goes on")
        send(broker, topic, [trigger(1)])
        assert told(process, until="off")
        assert [each.verdict for each in recorded(database)] == ["on", "off"]


def test_a_database_that_is_gone_is_waited_for_and_nothing_is_lost(broker, topic, database):
    with serving(broker, topic, database) as process:
        send(broker, topic, [trigger(0)])
        told(process, until="on")
        away = database.with_name("away")
        database.rename(away)
        database.mkdir()
        send(broker, topic, [trigger(number) for number in range(1, 40)])
        assert "is it up" in (said := told(process, until="held")[-1]["message"]) or "cannot be written" in said
        database.rmdir()
        away.rename(database)
        wait_for(40, database)
    assert [each.verdict for each in recorded(database)] == ["on", "off"] * 20


def test_a_topic_that_is_made_again_is_another_one(broker, topic, database):
    with serving(broker, topic, database):
        send(broker, topic, [trigger(number) for number in range(10)])
        wait_for(10, database)
        delete(broker, topic)
        send(broker, topic, [trigger(10)])
        wait_for(11, database)
    assert recorded(database)[-1].who == f"bolt by kafka {topic}/0@0"


def test_a_signal_ends_it(broker, topic, database):
    with serving(broker, topic, database) as process:
        send(broker, topic, [trigger(0)])
        told(process, until="on")
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=PATIENCE)
        assert process.returncode == 128 + signal.SIGTERM
        assert said.splitlines()[-1] == "interrupted"
        assert "Traceback" not in said
        assert gone(process.mark) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--kafka", "nowhere"), "'nowhere' is not a HOST:PORT of a broker"),
        (("--kafka", "a:1,b"), "'b' is not a HOST:PORT of a broker"),
        (("--kafka", "a:70000"), "is not a HOST:PORT of a broker"),
        (("--kafka", "a:1/"), "'' is not a name of a topic"),
        (("--kafka", "a:1/x y"), "'x y' is not a name of a topic"),
        (("--kafka", "a:1", "--kafka-conf", "CONF"), "line 2 of CONF is not a NAME=VALUE"),
        (("--kafka", "a:1", "--kafka-conf", "OTHER"), "No such configuration property"),
    ],
)
def test_what_is_wrong_is_one_line(tmp_path, words, said):
    (tmp_path / "CONF").write_text("# mine\nsasl.username\n")
    (tmp_path / "OTHER").write_text("no.such.thing = 1\n")
    here = [str(tmp_path / each) if each.isupper() else each for each in words]
    done = headworks("priority", "serve", *here, "--database", tmp_path / "p", "--token", tmp_path / "t")
    assert (done.returncode, said.replace("CONF", str(tmp_path / "CONF")) in done.stderr) == (2, True), done.stderr

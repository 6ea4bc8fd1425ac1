"""Values that somebody sends to stop the manager, or to take its database from others."""

from __future__ import annotations

import json
import random

import pytest
from sqlalchemy import create_engine, text

from headworks.errors import EngineError
from headworks_manager.database.connection import _address, engine_for, opened
from headworks_manager.database.history import Author
from headworks_manager.database.store import Store
from headworks_manager.database.topics import Letter, Partition, Topics
from headworks_manager.kafka.client import read_message
from headworks_manager.kafka.intake import BATCH
from headworks_manager.opening import Stores
from headworks_manager.rules.indication import LAST
from manager_databases import check_consistent, emptied, postgresql
from manager_served import serving

ANN = Author(who="ann")
PART = Partition("uuid", 0)
VALUES = 10_000
GOOD = {"topology": "a", "on": True, "source": "s"}
POISON = [
    rb'{"\ud800":1,"\ud800":2}',
    rb'{"topology":"a","on":true,"source":"s","\u0000":1}',
    rb'{"topology":"a","on":true,"source":"s","\udfff\u0000\u202e":"\ud800"}',
    rb'{"topology":"a","on":true,"source":"\u0000"}',
    rb'{"topology":"\u0000","on":true,"source":"s"}',
    rb'{"topology":"a","on":true,"source":"s","why":"\u0000\ud800"}',
    b'{"topology":"a","on":true,"source":"s","sequence":9223372036854775806}',
    b'{"topology":"a","on":true,"source":"s","sequence":%d}' % (LAST + 1),
    b'{"topology":"a","on":true,"source":"s","sent":"9999-99-99T99:99:99Z"}',
    b'{"topology":"a","on":true,"source":"s","sequence":1%s}' % (b"0" * 5000),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with postgresql(tmp_path_factory.mktemp("postgresql")) as url:
        yield url


@pytest.fixture
def postgres(server):
    return emptied(server)


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    return str(tmp_path / "p.sqlite") if request.param == "sqlite" else request.getfixturevalue("postgres")


def connections(url):
    """Connections of others to a PostgreSQL, as it counts them itself."""
    engine = create_engine(_address(url))
    with engine.connect() as connection:
        rows = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
        found = connection.execute(text(rows)).scalar_one()
    engine.dispose()
    return found


WORDS = ["a", "b", "c", "s", "", "a b", "\0", "\ud800", "\udfff", "\u202e", "\x1b[2J", "é", "𝄞", "x" * 300, "$schema"]
NUMBERS = [0, 1, -1, 2**31, LAST, LAST + 1, 2**63 - 2, 2**63, 2**64, 10**400, 0.5, 1e308, float("nan"), float("inf")]


def hostile(chance):
    """One value: a trigger of which parts are others, often spelt in another way, sometimes with bytes changed."""
    document = {"topology": chance.choice("ab"), "on": chance.random() < 0.5, "source": chance.choice("st")}
    for _ in range(chance.choice((0, 0, 1, 1, 2, 3))):
        key = chance.choice(("topology", "on", "source", "sequence", "sent", "why", chance.choice(WORDS)))
        document[key] = chance.choice(
            (chance.choice(WORDS), chance.choice(NUMBERS), chance.choice((None, True, [], {}, [[]], {"\0": "\ud800"})))
        )
    said = json.dumps(document)
    if chance.random() < 0.2:
        at = chance.randrange(1, len(said))
        said = said[:at] + said[at - chance.randrange(at) :]
    if chance.random() < 0.1:
        said = '{"\\ud800":1,' + said[1:]
    raw = bytearray(said.encode())
    if chance.random() < 0.1:
        raw[chance.randrange(len(raw))] = chance.randrange(256)
    return bytes(raw)


def test_any_value_is_taken_or_a_letter(url):
    chance = random.Random(44)
    values = [*POISON, *(hostile(chance) for _ in range(VALUES - len(POISON)))]
    outcomes = []
    with opened(url) as engine:
        store, topics = Store(engine), Topics(engine)
        for name in "ab":
            store.set(name, {"hold": 0}, ANN)
        for at in range(0, VALUES, BATCH):
            batch = [
                read_message("triggers/0", at + number, each) for number, each in enumerate(values[at : at + BATCH])
            ]
            outcomes += topics.take(PART, batch)
        assert [message.offset for message, _ in outcomes] == list(range(VALUES))
        letters = topics.letters(VALUES)
        recorded = sum(each.times for each in check_consistent(store, engine) if each.action == "trigger")
        assert (len(letters), recorded) == (
            sum(isinstance(made, Letter) for _, made in outcomes),
            sum(not isinstance(made, Letter) for _, made in outcomes),
        )
        assert min(len(letters), recorded) > VALUES / 10
        assert {each.offset for each in letters} >= {number for number in range(len(POISON)) if number != 5}
        for each in letters:
            assert each.error.isprintable() or "\n" in each.error
            assert (each.error + each.pointer).encode().count(0) == 0
        assert store.trigger(read_message("t/0", 1, json.dumps(GOOD).encode()).meant.trigger, ANN)


def test_a_number_that_is_taken_leaves_room_for_the_next(url):
    with opened(url) as engine:
        Store(engine).set("a", {"hold": 0}, ANN)
        values = [{**GOOD, "sequence": LAST}, GOOD, GOOD]
        batch = [read_message("t/0", number, json.dumps(each).encode()) for number, each in enumerate(values)]
        assert [made.verdict for _, made in Topics(engine).take(PART, batch)] == ["on", "renewed", "renewed"]


def test_what_only_the_database_refuses_is_a_letter_and_its_neighbours_are_taken(postgres):
    """A trigger of the database stands for whatever a later version of one may refuse."""
    with opened(postgres) as engine:
        store = Store(engine)
        for name in "ab":
            store.set(name, {"hold": 0}, ANN)
        with engine.begin() as connection:
            connection.execute(
                text("""
                CREATE FUNCTION refuse() RETURNS trigger AS $$ BEGIN
                RAISE numeric_value_out_of_range USING MESSAGE = 'not this one'; END $$ LANGUAGE plpgsql""")
            )
            connection.execute(
                text("""
                CREATE TRIGGER refuse BEFORE UPDATE ON headworks_topologies
                FOR EACH ROW WHEN (NEW.name = 'b') EXECUTE FUNCTION refuse()""")
            )
        values = [GOOD, {**GOOD, "topology": "b"}, {**GOOD, "on": False}]
        batch = [read_message("t/0", number, json.dumps(each).encode()) for number, each in enumerate(values)]
        first, second, third = [made for _, made in Topics(engine).take(PART, batch)]
        assert (first.verdict, third.verdict) == ("on", "off")
        assert second.error == "it cannot be taken: the database does not take a value: not this one"
        assert [each.topology for each in check_consistent(store, engine) if each.action == "trigger"] == ["a", "a"]
        with engine.begin() as connection:
            connection.execute(text("DROP FUNCTION refuse CASCADE"))


WRONG = [
    ("GET", "/v1/history?topology=%00", None, "/topology"),
    ("GET", "/v1/history?topology=" + "x" * 300, None, "/topology"),
    ("PUT", "/v1/topologies/%00", b"{}", "/name"),
    ("PUT", "/v1/topologies/a", b'{"hold": 1e308}', "/hold"),
    ("PUT", "/v1/topologies/a", b'{"aging": 1e308}', "/aging"),
    *(("POST", "/v1/triggers", each, None) for each in POISON),
]


def test_over_http_too_and_no_connection_is_left_behind(tmp_path, postgres):
    with serving(tmp_path, "--database", postgres) as served:
        assert served.ask("PUT", "/v1/topologies/a", {"hold": 0})[0] == 201
        for number in range(210):
            method, path, body, pointer = WRONG[number % len(WRONG)]
            status, answer = served.ask(method, path, raw=body)
            assert status in (400, 404), answer
            assert pointer is None or answer["pointer"] == pointer
        assert connections(postgres) <= 5
        assert served.ask("POST", "/v1/triggers", GOOD)[1]["verdict"] == "on"
        served.process.terminate()
        assert "Traceback" not in served.process.communicate()[1]


def test_a_database_that_fails_200_times_has_no_more_connections_than_before(postgres):
    stores, admin = Stores(), engine_for(postgres)
    assert list(stores.get(postgres).indications()) == []
    with admin.begin() as connection:
        connection.execute(text("ALTER TABLE headworks_topologies RENAME TO away"))
    for _ in range(200):
        with pytest.raises(EngineError), stores.use(postgres) as store:
            store.indications()
    with admin.begin() as connection:
        connection.execute(text("ALTER TABLE away RENAME TO headworks_topologies"))
    admin.dispose()
    assert connections(postgres) <= 5
    with stores.use(postgres) as store:
        store.set("a", {}, ANN)
    stores.close()
    assert connections(postgres) == 0

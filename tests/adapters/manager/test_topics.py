"""What is taken from a topic and how far that is are one transaction, on SQLite and a real PostgreSQL."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from headworks_manager.database.connection import opened
from headworks_manager.database.history import Author
from headworks_manager.database.store import Store
from headworks_manager.database.topics import KEPT, Letter, Partition, Topics
from headworks_manager.kafka.client import LARGEST, read_message
from headworks_manager.plain import time_text
from headworks_manager.rules.indication import HOLD, Trigger
from manager_databases import check_consistent, emptied, postgresql

ANN = Author(who="ann")
PART = Partition("uuid", 0)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with postgresql(tmp_path_factory.mktemp("postgresql")) as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def engine(request, tmp_path):
    url = str(tmp_path / "p.sqlite") if request.param == "sqlite" else emptied(request.getfixturevalue("server"))
    with opened(url) as engine:
        for name in ("a", "b"):
            Store(engine).set(name, {"hold": 0}, ANN)
        yield engine


def sent(offset, topology="a", *, on=True, source="bolt", **more):
    document = {"topology": topology, "on": on, "source": source, **more}
    return read_message("triggers/0", offset, json.dumps(document).encode())


def verdicts(outcomes):
    return [(message.offset, made.error if isinstance(made, Letter) else made.verdict) for message, made in outcomes]


def test_triggers_of_one_transaction_see_each_other(engine):
    messages = [
        sent(7, sequence=1),
        sent(8, sequence=1),
        sent(9, sequence=3, on=False),
        sent(10, sequence=2),
        sent(11, "b", why="hot"),
        sent(12, "b"),
        sent(13, "a", source="other"),
        sent(14, "a", sent="2096-10-02T07:06:40Z"),
    ]
    done = verdicts(Topics(engine).take(PART, messages))
    assert [word for _, word in done] == ["on", "repeated", "off", "late", "on", "renewed", "on", "ahead"]
    store = Store(engine)
    assert {name: each.active for name, each in store.indications().items()} == {"a": True, "b": True}
    changes = check_consistent(store, engine)
    triggers = [each for each in changes if each.action == "trigger"]
    assert [each.verdict for each in triggers] == [word for _, word in done]
    assert (triggers[4].who, triggers[4].why) == ("bolt by kafka triggers/0@11", "hot")
    assert Topics(engine).following(PART) == 15
    # Numbers that were counted in one transaction are those that the next one, and a person, goes on from.
    again = store.trigger(Trigger(topology="a", on=True, source="bolt", sequence=3), ANN)
    assert again.verdict == "repeated"
    assert store.trigger(Trigger(topology="b", on=False, source="bolt"), ANN).verdict == "off"


def test_what_was_taken_is_taken_once_also_by_two_at_once(engine):
    messages = [sent(number, source=f"task-{number % 3}") for number in range(60)]

    def take(_number):
        return [each for at in range(0, 60, 7) for each in Topics(engine).take(PART, messages[at : at + 7])]

    with ThreadPoolExecutor(3) as pool:
        taken = [message.offset for done in pool.map(take, range(3)) for message, _ in done]
    assert sorted(taken) == list(range(60))
    changes = check_consistent(Store(engine), engine)
    assert sum(each.times for each in changes if each.action == "trigger") == 60
    assert Topics(engine).take(PART, messages) == []
    assert [each[0] for each in verdicts(Topics(engine).take(PART, [*messages[-2:], sent(60)]))] == [60]
    assert Topics(engine).following(Partition("uuid", 1)) is None


NOW, MINUTE = 1_800_000_000_000, 60_000


def clock():
    return NOW


@pytest.mark.parametrize("together", [18, 1])
def test_what_ended_20_minutes_ago_moves_nobody_when_it_comes_after_an_outage(engine, together):
    """18 triggers of six hours, on and off by turns, the last one off."""
    store, topics = Store(engine, clock), Topics(engine, clock)
    ends = NOW - 20 * MINUTE
    store.set("a", {"hold": HOLD}, ANN)
    late = [sent(at, on=at % 2 == 0, sent=time_text(ends - (17 - at) * 20 * MINUTE)) for at in range(18)]
    seen = []
    for at in range(0, 18, together):
        topics.take(PART, late[at : at + together])
        seen.append(store.indications()["a"])
    assert (seen[-1].active, seen[-1].wanted, seen[-1].changed) == (False, False, ends)
    assert [each.active for each in seen] == ([False] if together == 18 else [True, False] * 9)
    triggers = [each for each in check_consistent(store, engine) if each.action == "trigger"]
    assert [each.verdict for each in triggers] == ["on", "off"] * 9
    assert store.trigger(Trigger(topology="a", on=True, source="bolt", sent=time_text(NOW)), ANN).verdict == "on"


def test_flaps_of_an_outage_end_in_what_was_asked_for_last(engine):
    """Within a hold of each other, and within the difference of clocks: only the last one counts from now on."""
    store, topics = Store(engine, clock), Topics(engine, clock)
    store.set("a", {"hold": HOLD}, ANN)
    begin = NOW - 2 * MINUTE
    topics.take(PART, [sent(at, on=at % 2 == 0, sent=time_text(begin + at * 5_000)) for at in range(8)])
    assert (store.indications()["a"].active, store.indications()["a"].wanted) == (False, False)
    check_consistent(store, engine)


WRONG = [
    (None, "", "it has no value"),
    (b"", "", "not JSON"),
    (b"\xff\xfe", "", "not JSON"),
    (b"[]", "", "not a trigger"),
    (b'{"topology": "a", "on": 1, "source": "s"}', "/on", "1 is not"),
    (b'{"topology": "a", "on": true, "source": "s", "now": true}', "/now", ""),
    (b'{"topology": "a", "on": true, "source": "a b"}', "/source", "is not a name"),
    (b'{"topology": "c", "on": true, "source": "s"}', "/topology", "no topology c is registered"),
    (b"x" * (LARGEST + 1), "", f"it has {LARGEST + 1} bytes"),
]


def test_what_is_no_trigger_is_kept_with_the_reason_until_it_is_delivered(engine):
    topics = Topics(engine)
    messages = [read_message("triggers/0", number, value) for number, (value, _, _) in enumerate(WRONG)]
    done = topics.take(PART, [*messages, sent(len(WRONG))])
    assert done[-1][1].verdict == "on"
    kept = topics.letters(99)
    assert [each.offset for each in kept] == list(range(len(WRONG)))
    for letter, (value, pointer, said) in zip(kept, WRONG, strict=True):
        assert (letter.partition, letter.pointer) == (PART, pointer)
        assert said in letter.error
        assert (letter.content, letter.size) == ((value or b"")[:KEPT], len(value or b""))
    topics.delivered(kept[:2])
    assert ([each.offset for each in topics.letters(1)], topics.waiting()) == ([2], len(WRONG) - 2)


def test_a_partition_that_lost_its_end_is_taken_on_from_there(engine):
    topics = Topics(engine)
    topics.take(PART, [sent(100)])
    topics.correct(PART, 40)
    assert [each[0] for each in verdicts(topics.take(PART, [sent(39), sent(40)]))] == [40]

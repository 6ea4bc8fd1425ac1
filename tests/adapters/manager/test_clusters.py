"""Two clusters in one database: what one does, the other does not see."""

from __future__ import annotations

import attrs
import pytest

from headworks.errors import DocumentError
from headworks.model import Observation
from headworks_manager.database.connection import cluster_of, opened
from headworks_manager.database.history import Author
from headworks_manager.database.ledger import Sent
from headworks_manager.database.store import Store
from headworks_manager.database.topics import Message, Partition, Topics
from headworks_manager.opening import open_store
from headworks_manager.plugin import Manager
from headworks_manager.rules.indication import Trigger
from headworks_manager.rules.starving import Claim
from headworks_priority.workloads import USE_CASE_1, use_case
from manager_databases import check_consistent

ANN = Author(who="ann")
SECOND = 1000
AGING = 10 * SECOND


@pytest.fixture
def both(tmp_path, clock):
    with opened(str(tmp_path / "one.sqlite")) as engine:
        yield Store(engine, clock, cluster="blue"), Store(engine, clock, cluster="green")


def starves(name="t", nodes=0):
    return Claim(name=name, level=5, desired=4, minimum=1, nodes=nodes)


def test_aging_comes_in_its_time_whatever_rounds_of_another_cluster_see(both, clock):
    """The same name in both: it starves in one, and runs in the other."""
    blue, green = both
    for store in both:
        store.set("t", {"aging": AGING}, ANN)
    for _ in range(60):
        seen = blue.look([starves()], {"t": AGING}, 4)
        green.look([starves(nodes=2), starves("other")], {}, 8)
        clock.now += SECOND
    assert seen["t"].boosted is not None
    assert [each.verdict for each in blue.history("t")] == ["preferred", "starves", "new"]
    assert [each.verdict for each in green.history("t")] == ["new"]
    assert (set(blue.seen()), set(green.seen())) == ({"t"}, {"t", "other"})


def test_each_has_its_own_priorities_sources_history_and_nodes(both):
    blue, green = both
    blue.set("t", {"priority": 1}, ANN)
    green.set("t", {"priority": 2}, ANN)
    trigger = Trigger(topology="t", on=True, source="bolt", sequence=7)
    assert blue.trigger(trigger, ANN).verdict == "on"
    assert green.trigger(trigger, ANN).verdict == "on"
    assert blue.trigger(trigger, ANN).verdict == "repeated"
    green.set("u", {}, ANN)
    with pytest.raises(DocumentError, match="no topology u is registered"):
        blue.trigger(attrs.evolve(trigger, topology="u"), ANN)
    blue.look([], {}, 2)
    green.look([], {}, 9)
    green.set("u", {"minimum_nodes": 9}, ANN)
    with pytest.raises(DocumentError, match="the cluster had 2"):
        blue.set("t", {"minimum_nodes": 3}, ANN)
    green.remove("t", ANN)
    assert blue.indications()["t"].level == 0
    assert set(green.indications()) == {"u"}
    assert green.prune(1) == 4
    for store in both:
        changes = store.history(limit=99)
        assert len(changes) == {"blue": 3, "green": 1}[store.cluster]
    check_consistent(blue, blue.engine)


def test_each_takes_each_message_of_a_topic(both, clock):
    part, trigger = Partition("uuid", 0), Trigger(topology="t", on=True, source="bolt")
    for store in both:
        store.set("t", {}, ANN)
        topics = Topics(store.engine, clock, cluster=store.cluster)
        letter = Message(offset=1, value=b"x", meant=DocumentError("", "no trigger"))
        assert (
            len(topics.take(part, [Message(offset=0, value=b"", meant=Sent(trigger=trigger, author=ANN)), letter])) == 2
        )
        assert (topics.following(part), topics.waiting(), len(topics.letters(9))) == (2, 1, 1)


def test_an_address_names_the_cluster_for_commands_and_rounds(tmp_path):
    address = f"{tmp_path / 'one.sqlite'}?cluster=blue"
    with open_store(address) as store:
        store.set("EventTP1", {"priority": 3}, ANN)
    with open_store(str(tmp_path / "one.sqlite")) as store:
        assert (store.cluster, store.indications()) == ("default", {})
    request = use_case(USE_CASE_1, 16, ())
    seen = Observation(cluster=request.cluster, topologies=request.topologies)
    for at, priority in ((address, 3), (address.replace("blue", "green"), None)):
        (found,) = (each for each in Manager().headworks_prioritise(seen, at).topologies if each.id == "EventTP1")
        assert found.priority == (declared(request) if priority is None else priority)


def declared(request):
    return next(each.priority for each in request.topologies if each.id == "EventTP1")


def test_the_default_database_may_have_clusters_too(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with open_store("?cluster=blue") as store:
        assert store.cluster == "blue"
    assert cluster_of(None) == "default"
    assert [each.name for each in tmp_path.rglob("*.sqlite")] == ["manager.sqlite"]


@pytest.mark.parametrize("name", ["a b", "a/b", "x" * 201])
def test_a_name_that_is_none_is_refused(tmp_path, name):
    with pytest.raises(DocumentError, match="is not a name"), open_store(f"{tmp_path}/a?cluster={name}"):
        pass
    with pytest.raises(DocumentError, match="several clusters"):
        cluster_of("a?cluster=b&cluster=c")

"""What Nimbus asks and what it is answered are documents with a schema; the JVM's own are in test_bridge_java."""

from __future__ import annotations

import json

import jsonschema
import pytest

from headworks.model import Slot
from headworks.plugins.host import PluginHost
from headworks_storm.nimbus.rounds import Rounds
from storm_rounds import round_text, supervisor, word_count
from storm_schemas import valid

NODES = [supervisor("a"), supervisor("b", blacklisted=True)]
RUNNING = word_count(slots=[("a", 6700)], assignment=[0, 0, 0, -1])
TASKS = ("wc/__acker/0", "wc/count/0", "wc/count/1", "wc/lines/0")


def rounds(**more):
    host = PluginHost.load()
    return Rounds(lambda request: host.schedule("even", request, {}), **more)


@pytest.mark.parametrize("topologies", [[], [word_count()], [RUNNING], [RUNNING, word_count("other", heap=None)]])
@pytest.mark.parametrize("shadow", [False, True])
def test_every_answer_is_a_document_of_its_schema(topologies, shadow):
    asked = round_text(NODES, topologies)
    valid("storm-round", asked)
    answer = valid("storm-answer", rounds(shadow=shadow).answer(asked))
    assert answer["mode"] == ("own" if shadow else "assign")


def test_a_wish_and_a_hold_are_documents_of_the_schema():
    wishing = rounds()
    wishing.wish(dict.fromkeys(TASKS, Slot("a", 6701)))
    wished = valid("storm-answer", wishing.answer(round_text(NODES, [RUNNING])))
    assert wished["topologies"]["wc"] == [["a", 6701, [1, 1, 2, 2, 3, 3, 4, 4]]]
    host = PluginHost.load()
    holding = Rounds(lambda request: host.schedule("no-such-scheduler", request, {}))
    assert valid("storm-answer", holding.answer(round_text(NODES, [RUNNING])))["mode"] == "hold"


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("storm-round", {"round": 0}),
        ("storm-round", {"supervisors": [{"id": "a"}]}),
        ("storm-round", {"topologies": [{**RUNNING, "slots": [["a"]]}]}),
        ("storm-round", {"topologies": [{**RUNNING, "assignment": [-2]}]}),
        ("storm-round", {"token": "x"}),
        ("storm-answer", {"mode": "improvise"}),
        ("storm-answer", {"topologies": {"wc": [["a", 6700, [1]]]}}),
        ("storm-answer", {"topologies": {"wc": [["a", 70000, [1, 1]]]}}),
        ("storm-answer", {"status": {"wc": 7}}),
    ],
)
def test_a_document_that_is_wrong_is_refused(name, change):
    asked = round_text(NODES, [RUNNING])
    text = asked if name == "storm-round" else rounds().answer(asked)
    with pytest.raises(jsonschema.ValidationError):
        valid(name, json.dumps({**json.loads(text), **change}))

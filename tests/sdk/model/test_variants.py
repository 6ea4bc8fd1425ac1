from __future__ import annotations

import attrs
import pytest

from headworks.errors import DocumentError
from headworks.model import Constraint, FrozenMap, Metrics, NodeSample, StreamSample, TaskSample, TopologySample
from headworks.model.topology import ConstraintKind
from headworks.model.validate import check_request
from headworks.model.variants import RequestChange, changed
from headworks.plugins.host import PluginHost
from small_requests import node, request, word_count

RULE = Constraint(kind=ConstraintKind.APART, components=("split",))
RUNNING = {"words/spout/0": "a", "words/split/0": "a", "words/split/1": "b", "words/count/0": "b", "words/count/1": "b"}


def asked(**more):
    (words,) = word_count().topologies
    nodes = [node("a", machine_type="large"), node("b", cpu=400.0, host="second", price=0.5)]
    return request(nodes, [attrs.evolve(words, constraints=(RULE,))], RUNNING, **more)


def change(found, **named):
    made = changed(found, RequestChange(**named))
    check_request(made)
    return made


def nodes(found):
    return [each.id for each in found.cluster.nodes]


def test_no_change_changes_nothing():
    assert change(asked()) == asked()


def test_a_lost_node_and_what_ran_there_are_gone():
    seen = Metrics(nodes=(NodeSample(node="a", cpu=9.0), NodeSample(node="b", cpu=1.0)))
    found = change(asked(metrics=seen), lose=("second",))
    assert nodes(found) == ["a"]
    assert sorted(found.assignment) == ["words/split/0", "words/spout/0"]
    assert found.metrics.nodes == seen.nodes[:1]


@pytest.mark.parametrize("name", ["even", "dstorm", "resource-aware", "otd"])
def test_no_scheduler_leaves_a_task_on_a_drained_node(name):
    found = change(asked(), drain=("a",), without=(str(RULE),))
    assert (nodes(found), found.assignment) == (["a", "b"], asked().assignment)
    plan = PluginHost.load().schedule(name, found)
    assert (plan.status, plan.scores.unplaced) == ("ok", 0)
    assert {slot.node for slot in plan.assignment.values()} == {"b"}
    assert plan.scores.moves >= 2


def test_nodes_come_like_one_of_their_type_or_name():
    found = change(asked(), add=(("large", 2), ("second", 1)))
    assert nodes(found) == ["a", "b", "new-large-1", "new-large-2", "new-second-1"]
    assert found.cluster.nodes[2].capacity == found.cluster.nodes[0].capacity
    assert (found.cluster.nodes[4].price, found.cluster.nodes[4].hostname) == (0.5, "new-second-1")


def test_another_load_is_that_of_what_is_declared_and_of_what_is_measured():
    seen = Metrics(
        tasks=(TaskSample(task="words/spout/0", cpu=10.0),),
        streams=(StreamSample(topology="words", source="spout", target="split", tuples=80.0),),
        topologies=(TopologySample(topology="words", offered=100.0, throughput=80.0, latency=5.0),),
    )
    found = change(asked(metrics=seen), load=1.5)
    spout, *_ = found.topologies[0].components
    assert (spout.rate, spout.demand.cpu, spout.demand.memory) == (150.0, 30.0, 0.0)
    assert (found.metrics.tasks[0].cpu, found.metrics.streams[0].tuples) == (15.0, 120.0)
    (whole,) = found.metrics.topologies
    assert (whole.offered, whole.throughput, whole.latency) == (150.0, None, None)


def test_a_constraint_is_left_out_by_its_words():
    assert change(asked(), without=(str(RULE),)).topologies[0].constraints == ()


def test_changes_hold_together():
    found = change(asked(), lose=("a",), add=(("large", 1),), load=2.0, without=(str(RULE),), drain=("b",))
    assert nodes(found) == ["b", "new-large-1"]
    (kept_off,) = found.topologies[0].constraints
    assert kept_off.labels == FrozenMap(node=("b",))


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ({"lose": ("c",)}, "there is no node 'c'; there are: a, b, second"),
        ({"drain": ("c",)}, "there is no node 'c'"),
        ({"add": (("small", 1),)}, "there is no machine type and no node 'small'; there are: a, b, large"),
        ({"without": ("x",)}, "there is no constraint 'x'; there are: split apart on every node"),
    ],
)
def test_an_unknown_name_is_refused_with_those_that_there_are(named, message):
    with pytest.raises(DocumentError, match=message):
        changed(asked(), RequestChange(**named))

"""A request that contradicts itself is refused at the place, in words; whatever may be is let pass."""

from __future__ import annotations

import math

import attrs
import pytest
from hypothesis import given

from headworks.errors import DocumentError, pointer
from headworks.model import (
    Cluster,
    Constraint,
    ConstraintKind,
    Flow,
    FrozenMap,
    Limits,
    Metrics,
    Node,
    NodeSample,
    Profile,
    Resources,
    Slot,
    Stream,
    StreamSample,
    TaskSample,
    TopologySample,
)
from headworks.model.validate import (
    MAX_AMOUNT,
    MAX_AMOUNTS,
    MAX_CHARACTERS,
    MAX_TASKS,
    check_places,
    check_request,
    check_size,
    is_id,
)
from headworks.testing.instances.strategies import requests
from small_requests import at, component, node, request, topology

METRICS = Metrics(
    window=1.0,
    tasks=(TaskSample(task="t/c/0"), TaskSample(task="u/d/0")),
    flows=(Flow(source="t/c/0", target="t/d/0"), Flow(source="u/c/0", target="u/d/0")),
    nodes=(NodeSample(node="a"), NodeSample(node="b")),
    topologies=(TopologySample(topology="t"), TopologySample(topology="u")),
)
STREAMS = (Stream(source="c", target="d"), Stream(source="c", target="d", name="more"))
WHOLE = request(
    [node("a"), node("b", price=0.5)],
    [topology(name, component("c"), component("d"), streams=STREAMS) for name in "tu"],
    {"t/c/0": "a"},
    metrics=METRICS,
    profiles=tuple(Profile(topology="u", component=name, machine_type="m", e=1.0) for name in "cd"),
)
"""At least two of everything, so that a pointer has to count."""


def put(value, path, new):
    """The value with another part at a path."""
    if not path:
        return new
    head, rest = path[0], path[1:]
    if isinstance(value, tuple):
        return tuple(put(each, rest, new) if number == head else each for number, each in enumerate(value))
    if attrs.has(type(value)):
        return attrs.evolve(value, **{head: put(getattr(value, head), rest, new)})
    return type(value)({**value, head: put(value.get(head), rest, new)})


def refused(asked, check=check_request):
    with pytest.raises(DocumentError) as caught:
        check(asked)
    return caught.value.pointer, caught.value.message


TASK, NODE, WORKERS = ("metrics", "tasks", 1), ("metrics", "nodes", 1), ("topologies", 1)
AMOUNTS = (
    ("cluster", "nodes", 1, "capacity", "cpu"),
    ("cluster", "nodes", 1, "capacity", "gpu"),
    ("cluster", "nodes", 1, "price"),
    *((*WORKERS, name) for name in ("worker_heap", "workers", "desired_nodes", "minimum_nodes", "isolated_nodes")),
    *((*WORKERS, "components", 1, name) for name in ("heap", "rate", "selectivity")),
    (*WORKERS, "components", 1, "demand", "cpu"),
    *((*WORKERS, "streams", 1, name) for name in ("rate", "tuple_bytes")),
    *((*TASK, name) for name in ("cpu", "memory", "received", "emitted", "queue")),
    *((*NODE, name) for name in ("cpu", "memory")),
    *(("metrics", "topologies", 1, name) for name in ("offered", "throughput", "latency")),
    *(("metrics", "flows", 1, name) for name in ("tuples", "bytes")),
    ("metrics", "window"),
    *(("profiles", 1, name) for name in ("e", "met", "alpha")),
    ("limits", "max_moves"),
)


@pytest.mark.parametrize("path", AMOUNTS, ids=lambda path: pointer(*path))
def test_an_amount_is_a_number_of_nought_to_the_largest(path):
    for amount in (0, 0.0, 1, MAX_AMOUNT):
        check_request(put(WHOLE, path, amount))
    for wrong in (-1, -1e-9, math.nan, math.inf, 1.0001 * MAX_AMOUNT, 10**400, "1"):
        where, message = refused(put(WHOLE, path, wrong))
        assert where == pointer(*path)
        assert message == f"{wrong!r} is not an amount: a number of 0 to 1e+15 is needed"


@pytest.mark.parametrize(("path", "new", "message"), [
    (("cluster", "nodes", 1), node("a"), "node 'a' is named twice"),
    (("cluster", "nodes", 1, "slots"), (5, 6, 5), "slot 5 is named twice"),
    (("topologies", 1), topology("t"), "topology 't' is named twice"),
    ((*WORKERS, "components", 1), component("c"), "component 'c' is named twice"),
    (TASK, TaskSample(task="t/c/0"), "task 't/c/0' is named twice"),
    (NODE, NodeSample(node="a"), "node 'a' is named twice"),
    (("metrics", "topologies", 1), TopologySample(topology="t"), "topology 't' is named twice"),
    ((*WORKERS, "streams", 1), Stream(source="c", target="d"), "stream ('c', 'd', 'default') is named twice"),
    (("profiles", 1), Profile(topology="u", component="c", machine_type="m", e=9.0),
     "profile ('u', 'c', 'm') is named twice"),
])  # fmt: skip
def test_a_name_is_given_once(path, new, message):
    at_fault = (*path, 2) if "slots" in path else path
    assert refused(put(WHOLE, path, new)) == (pointer(*at_fault), message)


@pytest.mark.parametrize(("limits", "name", "message"), [
    ({"deadline": 0}, "deadline", "0 is out of bounds: more than 0 is needed"),
    ({"deadline": -1.0}, "deadline", "-1.0 is not an amount"),
    ({"deadline": math.nan}, "deadline", "nan is not an amount"),
    ({"slowdown": 0.5}, "slowdown", "0.5 is out of bounds: 1 or more is needed"),
    ({"fill": 0.0}, "fill", "0.0 is out of bounds: more than 0 is needed"),
    ({"fill": 1.5}, "fill", "1.5 is out of bounds: at most 1 is needed"),
])  # fmt: skip
def test_a_limit_is_within_the_bounds_of_its_field(limits, name, message):
    where, said = refused(put(WHOLE, ("limits",), Limits(**limits)))
    assert (where, said[: len(message)]) == (f"/limits/{name}", message)


@pytest.mark.parametrize(("speed", "message"), [
    (0.0, "0.0 is out of bounds: 0.01 or more is needed"),
    (1.5, "1.5 is out of bounds: at most 1 is needed"),
    (math.nan, "nan is not an amount: a number of 0 to 1e+15 is needed"),
])  # fmt: skip
def test_no_node_is_faster_than_the_fastest_or_stands_still(speed, message):
    assert refused(put(WHOLE, (*NODE, "speed"), speed)) == ("/metrics/nodes/1/speed", message)
    check_request(put(WHOLE, (*NODE, "speed"), 0.5))


@pytest.mark.parametrize("path", [("cluster", "nodes", 1, "id"), (*WORKERS, "id"), (*WORKERS, "components", 1, "id")])
@pytest.mark.parametrize("name", ["", "a\nb", "\x00"])
def test_an_id_can_be_shown(path, name):
    message = f"{name!r} is not an id: it is empty or has a character that cannot be shown"
    assert refused(put(WHOLE, path, name)) == (pointer(*path), message)


@pytest.mark.parametrize("name", ["a b", "a/b", "می\u200cشود", "क\u200dष", "日本"])
def test_an_id_may_be_any_word_of_any_script(name):
    assert is_id(name)


@pytest.mark.parametrize(("path", "new", "message"), [
    ((*WORKERS, "streams", 1, "source"), "x", "'x' is not a component of 'u'"),
    ((*WORKERS, "streams", 1, "target"), "x", "'x' is not a component of 'u'"),
    ((*WORKERS, "streams", 1, "grouping"), "x", "'x' is not a grouping"),
    ((*WORKERS, "streams", 1, "fanout"), "x", "'x' is not a fanout"),
    ((*WORKERS, "id"), "u/v", "'u/v' has a /, which ends a topology's id in a task's id"),
    (("assignment", "t/c/1"), at("a"), "'t/c/1' is not a task"),
    ((*TASK, "task"), "x", "'x' is not a task"),
    ((*NODE, "node"), "x", "'x' is not a node"),
    (("metrics", "topologies", 1, "topology"), "x", "'x' is not a topology"),
    (("metrics", "flows", 1, "source"), "x", "'x' is not a task"),
    (("metrics", "flows", 1, "target"), "x", "'x' is not a task"),
])  # fmt: skip
def test_what_is_named_has_to_be_there(path, new, message):
    assert refused(put(WHOLE, path, new)) == (pointer(*path), message)


@pytest.mark.parametrize("part", [{"topology": "x"}, {"component": "x"}])
def test_a_profile_is_of_a_component_that_is_there(part):
    names = {"topology": "u", "component": "d", **part}
    message = f"topology {names['topology']!r} has no component {names['component']!r}"
    assert refused(put(WHOLE, ("profiles", 1), Profile(**names, machine_type="m", e=1.0))) == ("/profiles/1", message)


def test_references_are_looked_at_where_only_one_of_them_is_given():
    bare = attrs.evolve(WHOLE, assignment=FrozenMap(), metrics=Metrics(window=1.0))
    check_request(bare)
    assert refused(attrs.evolve(bare, assignment=FrozenMap({"x": at("a")})))[0] == "/assignment/x"
    for name, wrong in {
        "tasks": TaskSample(task="x"),
        "flows": Flow(source="x", target="t/c/0"),
        "nodes": NodeSample(node="x"),
        "topologies": TopologySample(topology="x"),
        "streams": StreamSample(topology="x", source="c", target="c"),
    }.items():
        where, _ = refused(put(bare, ("metrics", name), (wrong,)))
        assert where.startswith(f"/metrics/{name}/0/")


@pytest.mark.parametrize(("wrong", "where"), [({"source": "x"}, "source"), ({"target": "x"}, "target")])
def test_a_measured_stream_is_between_components_that_are_there(wrong, where):
    named = StreamSample(**({"topology": "t", "source": "c", "target": "c"} | wrong))
    assert refused(put(WHOLE, ("metrics", "streams"), (named,))) == (
        f"/metrics/streams/0/{where}",
        "'x' is not a component of 't'",
    )


@pytest.mark.parametrize("kind", [ConstraintKind.TOGETHER, ConstraintKind.APART])
def test_a_constraint_names_no_component_of_another_topology(kind):
    theirs = put(WHOLE, ("topologies", 0), topology("t", component("c"), component("e"), streams=()))
    named = put(theirs, ("topologies", 1, "constraints"), (Constraint(kind=kind, components=("d", "e")),))
    where = "/topologies/1/constraints/0/components/1"
    assert refused(attrs.evolve(named, metrics=Metrics())) == (where, "'e' is not a component of 'u'")


def test_a_cycle_is_refused_at_the_streams_of_its_topology():
    circle = (*STREAMS, Stream(source="d", target="c"))
    where, message = refused(put(WHOLE, (*WORKERS, "streams"), circle))
    assert where == "/topologies/1/streams"
    assert message.startswith("streams of 'u' form a cycle without a rate: ")


def test_rates_that_grow_beyond_numbers_are_refused_at_their_stream():
    parts = (component("c", rate=1e10, kind="spout"), component("d", selectivity=1e10), component("e"))
    streams = (Stream(source="c", target="d"), Stream(source="d", target="e"))
    where, message = refused(request([], [topology("s"), topology("v", *parts, streams=streams)]))
    assert where == "/topologies/1/streams/1"
    assert message.startswith("1e+20 is not an amount")


@pytest.mark.parametrize("counts", [(MAX_TASKS, 1), (MAX_TASKS - 5, 6)])
def test_the_component_that_is_one_too_many_is_named(counts):
    asked = request([], [topology("t", component("c", counts[0])), topology("u", component("d"), component("e"))])
    asked = put(asked, ("topologies", 1, "components", 0, "parallelism"), counts[1])
    check_size(put(asked, ("topologies", 1, "components"), (component("d", counts[1] - 1),)))
    total = sum(counts)
    assert refused(asked, check_size) == (
        "/topologies/1/components/0/parallelism",
        f"{total} tasks so far, at most {MAX_TASKS} are taken; lower it",
    )


@pytest.mark.parametrize(("path", "value", "where"), [
    ((*WORKERS, "components", 1, "parallelism"), -3, "/topologies/1/components/1/parallelism"),
    ((*WORKERS, "components", 1, "parallelism"), 10**14, "/topologies/1/components/1/parallelism"),
])  # fmt: skip
def test_numbers_of_tasks_are_counted_before_tasks_are_made(path, value, where):
    assert refused(put(WHOLE, path, value))[0] == where


@given(requests())
def test_valid_requests_pass(asked):
    check_request(asked)


@pytest.mark.parametrize(
    ("slot", "message"), [("gone:6700", "'gone' is not a node"), ("a:9", "node 'a' has no slot 9")]
)
def test_a_task_on_a_dead_node_is_let_pass_for_an_engine_and_refused_for_a_document(slot, message):
    asked = attrs.evolve(WHOLE, assignment=FrozenMap({"t/c/0": at("a"), "u/d/0": Slot.parse(slot)}))
    check_request(asked)
    assert refused(asked, check_places) == ("/assignment/u~1d~10", message)
    check_places(WHOLE)


@pytest.mark.parametrize(("nodes", "tasks"), [(2000, 1), (1, 2000)])
def test_more_amounts_than_arrays_have_room_for_are_refused_before_they_are_made(nodes, tasks):
    names = MAX_AMOUNTS // (nodes + tasks)
    amounts = Resources({f"r{number}": 1.0 for number in range(names)})
    small = [node(f"n{number}") for number in range(nodes - 1)]

    def asked(more):
        kept = dict(list(amounts.items())[: names + min(more, 0)])
        large = Node(id="large", capacity=Resources({**kept, **{f"more{n}": 1.0 for n in range(max(more, 0))}}))
        return attrs.evolve(
            request([*small], [topology("t", component("c", tasks))]), cluster=Cluster(nodes=(*small, large))
        )

    check_request(asked(-2))
    with pytest.raises(DocumentError, match="amounts, at most 4000000 are taken; name fewer resources"):
        check_request(asked(1))


def test_ids_of_tasks_have_a_greatest_length_together():
    long = "a" * 1_000_000
    check_request(request([node("a")], [topology("t", component(long, MAX_CHARACTERS // 1_000_001))]))
    with pytest.raises(DocumentError, match=f"at most {MAX_CHARACTERS} are taken; shorten it") as caught:
        check_request(request([node("a")], [topology("t", component(long, MAX_CHARACTERS // 1_000_001 + 1))]))
    assert caught.value.pointer == "/topologies/0/components/0/id"


def test_the_fewest_tasks_of_a_component_are_no_more_than_the_most():
    parts = attrs.evolve(component("c"), min_parallelism=2, max_parallelism=2), component("d")
    check_request(request([node("a")], [topology("t", *parts)]))
    wrong = attrs.evolve(parts[0], min_parallelism=3)
    with pytest.raises(DocumentError, match="'c' has 3 tasks at least and 2 at most") as error:
        check_request(request([node("a")], [topology("t", wrong, parts[1])]))
    assert error.value.pointer == "/topologies/0/components/0/max_parallelism"
    with pytest.raises(DocumentError, match="-1 is not an amount"):
        check_request(request([node("a")], [topology("t", attrs.evolve(parts[0], min_parallelism=-1))]))


@pytest.mark.parametrize("threads", [0, -1])
def test_a_task_has_a_thread_at_least(threads):
    check_request(request([node("a")], [topology("t", component("c", threads=3))]))
    with pytest.raises(
        DocumentError, match=f"{threads} is not a number of threads: a whole number of 1 or more"
    ) as error:
        check_request(request([node("a")], [topology("t", component("c", threads=threads))]))
    assert error.value.pointer == "/topologies/0/components/0/threads"

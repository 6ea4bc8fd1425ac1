"""People read hosts and names, not the ids that an engine made of them."""

from __future__ import annotations

import pytest

from headworks.errors import DocumentError
from headworks.model import Node, Resources, Topology
from headworks.model.spoken import node_named, spoken, task_named

UUID = "15343eb4-7c4e-4f3c-9d51-0a8f6f0c2d11"


def node(name, host=None):
    return Node(id=name, host=host, capacity=Resources())


def test_ids_that_hold_the_host_or_the_name_give_way():
    say = spoken(
        [node(f"{UUID}-n1.example", "n1.example"), node("plain", "n2.example")],
        [Topology(id="words-1-1764412345", name="words"), Topology(id="other", name="shown")],
    )
    assert say(f"words-1-1764412345/count/3 has no room on {UUID}-n1.example:6700") == (
        "words/count/3 has no room on n1.example:6700"
    )
    assert say("other on plain") == "other on plain"
    assert say(f"x{UUID}-n1.example") == f"x{UUID}-n1.example"


def test_an_id_that_storm_made_of_another_address_gives_way():
    say = spoken([node(f"{UUID}-10.0.0.7", "n1.example"), node(UUID, "n2.example"), node("a-b", "n3.example")], [])
    assert say(f"{UUID}-10.0.0.7:6700, {UUID}:6701, a-b") == "n1.example:6700, n2.example:6701, a-b"


def test_an_id_stays_where_two_have_its_host_or_name():
    two = [node(f"{number}{UUID[1:]}-n1", "n1") for number in (1, 2)]
    same = [Topology(id=f"words-{number}-1764412345", name="words") for number in (1, 2)]
    say = spoken(two, same)
    assert say(f"{two[0].id} and words-1-1764412345") == f"{two[0].id} and words-1-1764412345"


def test_a_node_is_named_by_its_id_or_by_a_host_of_its_own():
    nodes = [node("a", "n1"), node("b", "n2"), node("c", "n2"), node("n1", "n3")]
    assert [node_named(nodes, name) for name in ("a", "n1", "n3")] == ["a", "n1", "n1"]
    with pytest.raises(DocumentError, match="there is no node 'n2'"):
        node_named(nodes, "n2")


def test_a_task_is_named_by_the_id_or_the_name_of_its_topology():
    parts = [Topology(id="words-1-17", name="words"), Topology(id="x-1", name="x"), Topology(id="x-2", name="x")]
    assert task_named(parts, "words/count/3") == "words-1-17/count/3"
    assert task_named(parts, "words-1-17/count/3") == "words-1-17/count/3"
    assert [task_named(parts, name) for name in ("x/count/3", "other/c/0", "")] == ["x/count/3", "other/c/0", ""]

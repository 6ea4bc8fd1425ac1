from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headworks.model import FrozenMap, Kind, Stream
from headworks.problem import Problem
from headworks.report.placement import BANDS, DETAILED, placement_svg, short
from headworks.testing.instances.strategies import requests
from small_requests import at, component, node, request, topology, word_count

SVG = "{http://www.w3.org/2000/svg}"


def drawn(problem, assignment):
    root = ElementTree.fromstring(placement_svg(problem, assignment))
    left, top, width, height = map(float, root.get("viewBox").split())
    for each in root.iter(f"{SVG}rect"):
        x, y = float(each.get("x")), float(each.get("y"))
        assert left <= x <= x + float(each.get("width")) <= width
        assert top <= y <= y + float(each.get("height")) <= height
    return root, [each.text for each in root.iter(f"{SVG}title")]


@given(requests(), st.randoms(use_true_random=False))
def test_every_task_and_node_is_in_a_well_formed_picture(asked, chance):
    problem = Problem.of(asked)
    plan = problem.plan([chance.randint(-1, problem.m - 1) for _ in range(problem.n)])
    _, titles = drawn(problem, plan.assignment)
    missing = ["not placed"] * (len(plan.assignment) < problem.n)
    assert sorted(titles) == sorted([*problem.node_ids, *problem.task_ids, *missing])


def test_the_traffic_between_nodes_is_a_band_with_its_share():
    problem = Problem.of(word_count())
    root, _ = drawn(problem, problem.plan([0, 1, 0, 1, 0]).assignment)
    (band,) = root.iter(f"{SVG}path")
    assert float(band.get("stroke-width")) > 0
    assert "300 tuples/s, 50%" in [each.text for each in root.iter(f"{SVG}text")]


def colours(*components):
    """Colour of each component in the picture of a topology that has one task of each."""
    problem = Problem.of(request([node("a")], [topology("t", *(component(each, 1) for each in components))]))
    root, _ = drawn(problem, problem.plan([0] * len(components)).assignment)
    return {
        cell.find(f"{SVG}title").text.split("/")[1].partition("[")[0]: cell.find(f"{SVG}rect").get("fill")
        for cell in root.iter(f"{SVG}g")
    }


def test_what_an_engine_adds_to_a_topology_changes_no_colour():
    alone = colours("count", "split")
    assert len({*alone.values()}) == 2
    assert alone.items() <= colours("__acker", "count", "__seats", "split").items()


def test_nodes_that_exchange_nothing_have_no_band():
    made = request([node("a"), node("b")], [topology("t", component("c", 2))])
    root, _ = drawn(Problem.of(made), Problem.of(made).plan([0, 1]).assignment)
    assert list(root.iter(f"{SVG}path")) == []


@pytest.mark.parametrize("nodes", [0, 1, BANDS, BANDS + 1, DETAILED, DETAILED + 1, 700])
def test_clusters_of_every_size_fit_in_their_picture(nodes):
    parts = component("a", 3, 10.0, kind=Kind.SPOUT, rate=9.0), component("b", 40, 2.0)
    streams = (Stream(source="a", target="b"),)
    made = request([node(f"n{number:03}") for number in range(nodes)], [topology("t", *parts, streams=streams)])
    problem = Problem.of(made)
    spread = [task % nodes if nodes else -1 for task in range(problem.n)]
    _, titles = drawn(problem, problem.plan(spread).assignment)
    assert all(any(title.startswith(name) for title in titles) for name in problem.node_ids)


def test_a_large_cluster_tells_load_and_overload_by_colour():
    parts = component("c", 3, cpu=60.0)
    running = {"t/c/0": "n000", "t/c/1": "n000", "t/c/2": "n001"}
    made = request([node(f"n{number:03}") for number in range(30)], [topology("t", parts)], running)
    root, titles = drawn(Problem.of(made), made.assignment)
    assert titles[:3] == ["n000: 2 tasks, 120% full", "n001: 1 tasks, 60% full", "n002: 0 tasks, 0% full"]
    fills = [each.get("fill") for each in root.iter(f"{SVG}rect")]
    assert fills[0] != fills[1] != fills[2] == "none"


@pytest.mark.parametrize("extra", [0, 30])
def test_ids_are_escaped(extra):
    name = "<b>&\"'</b>"
    nodes = [node(name), *(node(f"n{number}") for number in range(extra))]
    made = request(nodes, [topology("t", component(name))])
    text = placement_svg(Problem.of(made), FrozenMap({f"t/{name}/0": at(f"{name}:6700")}))
    assert "<b>" not in text
    assert re.search(r"https?://", text.replace("http://www.w3.org/2000/svg", "")) is None
    ElementTree.fromstring(text)


def test_amounts_are_shortened():
    assert [short(amount).strip() for amount in (0.0, 999.0, 1234.0, 2.5e6, 3e9)] == [
        "0",
        "999",
        "1.2 k",
        "2.5 M",
        "3.0 G",
    ]

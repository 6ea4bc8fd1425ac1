"""What one topology says of itself stops no round, which is for all topologies."""

from __future__ import annotations

import json
import random
from itertools import combinations, product

import pytest

from headworks import PluginHost
from headworks.model import ConstraintKind
from headworks_storm.nimbus.constraints.translate import constraints_of
from headworks_storm.nimbus.constraints.worker_groups import MOST, exclusive_groups
from headworks_storm.nimbus.names import shown
from headworks_storm.nimbus.rounds import Rounds
from headworks_storm.nimbus.snapshot import read_snapshot
from storm_rounds import CPU, ON, component, round_text, supervisor, topology, word_count

NAMES = ("", "\n", "\x00", "\ud800", "\\u000a", "a\xa0b", "‮", "a/b", "x" * 10_000)
"""Storm takes any text as the id of a component."""


def answer(*topologies, host=None, **more):
    host = host or PluginHost.load()
    rounds = Rounds(lambda request: host.schedule("resource-aware", request))
    return json.loads(rounds.answer(round_text([supervisor("a"), supervisor("b")], topologies, **more)))


def placed(said, name="wc"):
    return sorted(task for _, _, flat in said["topologies"].get(name, []) for task in flat[::2])


def test_names_of_components_that_cannot_be_shown_stop_no_round():
    parts = [component(name, [number, number]) for number, name in enumerate(NAMES, 1)]
    for each, source in zip(parts[1:], NAMES, strict=False):
        each["inputs"] = [[source, "default", "shuffle"]]
    said = answer(topology("odd", *parts, heap=None), word_count())
    assert said["mode"] == "assign", said["reason"]
    assert placed(said) == [1, 2, 3, 4]
    assert placed(said, "odd") == list(range(1, len(NAMES) + 1))


def test_each_of_them_has_a_name_that_no_other_has_and_the_same_in_each_round():
    found = shown(NAMES)
    assert len(set(found.values())) == len(NAMES)
    assert found == shown(NAMES)
    assert found["\n"] != "\\u000a" == found["\\u000a"]
    assert all(found[name] == name for name in ("a/b", "x" * 10_000))


def test_constraints_hold_for_them_too():
    parts = [component("\n", [1, 1]), component("", [2, 2])]
    conf = {"topology.ras.constraints": [["\n", ""]], "topology.spread.components": ["\n"]}
    text = round_text([supervisor("a")], [topology("odd", *parts, conf=conf)])
    (found,) = read_snapshot(text).observation().topologies
    names = {each.id for each in found.components}
    assert [set(each.components) for each in found.constraints] == [names, {shown(["\n", ""])["\n"]}]


@pytest.mark.parametrize("asked", [-1.0, -1e300, "NaN", "-Infinity", None])
@pytest.mark.parametrize("resource", [CPU, ON, "gpu"])
def test_an_amount_that_is_none_is_nothing_and_stops_no_round(asked, resource):
    odd = word_count("odd")
    odd["components"][1]["resources"][resource] = asked
    said = answer(odd, word_count())
    assert said["mode"] == "assign", said["reason"]
    assert placed(said) == [1, 2, 3, 4]


@pytest.mark.parametrize("number", [10**16, "two", -1, [], True])
def test_a_number_of_nodes_beyond_all_measure_counts_as_none(number):
    conf = {"topology.headworks.desired.nodes": number, "topology.headworks.minimum.nodes": number}
    said = answer(word_count("odd", conf=conf), word_count(), isolation={"odd": number})
    assert said["mode"] == "assign", said["reason"]
    assert placed(said) == placed(said, "odd") == [1, 2, 3, 4]


def test_the_id_of_a_topology_may_have_the_joiners_that_words_need():
    """Storm takes them: its pattern asks for characters of words, as Unicode has them."""
    name = "می‌شود-1-1700000000"
    assert placed(answer(word_count(name)), name) == [1, 2, 3, 4]


def test_components_that_are_all_apart_are_one_constraint():
    """Each pair as one of its own took a round of seconds, which no Nimbus waits for."""
    names = [f"c{number:03}" for number in range(150)]
    conf = {"topology.ras.constraints": {name: {"incompatibleComponents": names} for name in names}}
    found = constraints_of(conf, set(names))
    apart = [each for each in found if each.kind is ConstraintKind.APART]
    assert [each.components for each in apart] == [tuple(names)]
    assert len(found) == 1 + len(names)  # named beside itself: one executor of each a worker


def pairs_of(found):
    return {pair for group in found for pair in combinations(group, 2)}


def test_few_pairs_stay_pairs():
    pairs = [("b", "a"), ("b", "c"), ("a", "c"), ("a", "b")]
    assert exclusive_groups(pairs) == [("a", "b"), ("a", "c"), ("b", "c")]


def test_groups_hold_every_pair_and_no_other_as_long_as_they_are_few():
    dice, exact = random.Random(16), 0
    for _ in range(200):
        names = [f"c{number}" for number in range(dice.randint(2, 30))]
        pairs = [dice.sample(names, 2) for _ in range(dice.randint(0, 400))]
        asked = {(min(pair), max(pair)) for pair in pairs}
        found = exclusive_groups(pairs)
        assert asked <= pairs_of(found)
        assert len(found) <= MOST
        exact += asked == pairs_of(found) and len(asked) > MOST
    assert exact


def test_pairs_that_hang_together_in_too_many_ways_are_kept_apart_all_of_them():
    ones, others = [f"a{number}" for number in range(20)], [f"b{number}" for number in range(20)]
    assert exclusive_groups([*product(ones, others), ("x", "y")]) == [tuple(sorted(ones + others)), ("x", "y")]

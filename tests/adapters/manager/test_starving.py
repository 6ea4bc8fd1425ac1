"""Who starves, what it would take, and aging that bounds it: rules, held against what DPS does."""

from __future__ import annotations

import random

import attrs
from hypothesis import given
from hypothesis import strategies as st

from headworks_manager.rules.starving import Claim, Seen, levels, look, remedies
from headworks_priority.claimants import Claimant
from headworks_priority.options import DpsOptions
from headworks_priority.shares import dps

NOW, AGING = 1_800_000_000_000, 60_000


def shared(claims, level, nodes):
    """Nodes that DPS gives each topology at its level."""
    wanted = sorted(
        (
            Claimant(topology=at, id=each.name, priority=level[each.name], desired=each.desired, minimum=each.minimum)
            for at, each in enumerate(claims)
        ),
        key=lambda each: (each.priority, each.topology),
    )
    return {each.id: share for each, share in zip(wanted, dps(wanted, nodes, DpsOptions()), strict=True)}


def claim(name, level, desired=4, nodes=0, minimum=1):
    return Claim(name=name, level=level, desired=desired, minimum=minimum, nodes=nodes)


def test_starving_begins_and_ends():
    first = look(None, claim("t", 5), aging=None, now=NOW, remedy="much")
    assert (first.starving, first.remedy) == (NOW, "much")
    later = look(first, claim("t", 5), aging=None, now=NOW + 10 * AGING, remedy="much")
    assert (later.starving, later.boosted) == (NOW, None)
    runs = look(later, claim("t", 5, nodes=2), aging=None, now=NOW + 11 * AGING, remedy="much")
    assert runs == Seen(name="t", nodes=2)


def test_who_has_fewer_nodes_than_its_minimum_starves_though_an_engine_keeps_its_workers():
    seen = look(None, claim("t", 5, nodes=1, minimum=3), aging=AGING, now=NOW, remedy="more")
    assert seen == Seen(name="t", nodes=1, minimum=3, starving=NOW, remedy="more")
    seen = look(seen, claim("t", 5, nodes=2, minimum=3), aging=AGING, now=NOW + AGING)
    assert (seen.starving, seen.boosted, seen.served) == (NOW, NOW + AGING, None)
    seen = look(seen, claim("t", 5, nodes=3, minimum=3), aging=AGING, now=NOW + AGING + 1)
    assert (seen.starving, seen.served) == (None, NOW + AGING + 1)
    seen = look(seen, claim("t", 5, nodes=2, minimum=3), aging=AGING, now=NOW + AGING + 2)
    assert (seen.starving, seen.served) == (NOW + AGING + 2, None)
    assert not look(None, claim("t", 5, nodes=1, minimum=0), aging=None, now=NOW).starving
    assert look(None, claim("t", 5, nodes=0, minimum=0), aging=None, now=NOW).starving


def test_aging_prefers_until_it_was_served_as_long():
    seen = look(None, claim("t", 5), aging=AGING, now=NOW)
    assert look(seen, claim("t", 5), aging=AGING, now=NOW + AGING - 1).boosted is None
    seen = look(seen, claim("t", 5), aging=AGING, now=NOW + AGING)
    assert seen.boosted == NOW + AGING
    seen = look(seen, claim("t", 5, nodes=1), aging=AGING, now=NOW + AGING + 10)
    seen = look(seen, claim("t", 5, nodes=1), aging=AGING, now=NOW + 2 * AGING)
    assert seen.boosted is not None
    assert look(seen, claim("t", 5, nodes=1), aging=AGING, now=NOW + 2 * AGING + 10).boosted is None
    assert look(seen, claim("t", 5, nodes=1), aging=None, now=NOW + AGING + 11).boosted is None


some = st.lists(st.tuples(st.integers(0, 4), st.integers(1, 6)), min_size=2, max_size=5)


def claims_of(drawn):
    return [claim(f"t{at}", level, desired) for at, (level, desired) in enumerate(drawn)]


@given(some, st.integers(1, 12))
def test_levels_keep_the_order_and_are_no_negative_numbers(drawn, nodes):
    claims = claims_of(drawn)
    assert levels(claims, {}) == {each.name: each.level for each in claims}
    made = levels(
        claims, {"t1": Seen(name="t1", nodes=0, boosted=NOW), "t0": Seen(name="t0", nodes=0, boosted=NOW + 1)}
    )
    assert (made["t1"], made["t0"]) == (0, 1)
    rest = [each for each in claims if each.name not in ("t0", "t1")]
    assert [made[each.name] for each in rest] == [each.level + 2 for each in rest]
    assert shared(claims, made, nodes)["t1"] >= 1


@given(some, st.integers(1, 8))
def test_what_it_would_take_is_enough_for_dps(drawn, nodes):
    claims = claims_of(drawn)
    level = {each.name: each.level for each in claims}
    given_now = shared(claims, level, nodes)
    claims = [attrs.evolve(each, nodes=given_now[each.name]) for each in claims]
    for name, said in remedies(claims, nodes).items():
        assert given_now[name] == 0
        words = said.split()
        if words[0] == "nothing:":
            continue
        assert shared(claims, level, nodes + int(words[0]))[name] >= 1, said
        if "priority" in words:
            assert shared(claims, {**level, name: int(words[-1])}, nodes)[name] >= 1, said


def test_what_it_would_take_counts_the_minimum():
    claims = [claim("a", 1, desired=4, nodes=4), claim("b", 2, desired=4, nodes=1, minimum=3)]
    assert remedies(claims, 5) == {"b": "2 more nodes, or priority 0"}
    assert remedies([claims[0], attrs.evolve(claims[1], nodes=3)], 7) == {}


@given(some, st.integers(1, 6))
def test_with_aging_nobody_starves_for_ever(drawn, nodes):
    """Rounds of DPS a second apart: with aging all have nodes in time; without it, those that starve do for ever."""
    claims, seen, served = claims_of(drawn), {}, {}
    aging, second = 5_000, 1_000
    bound = 2 * (aging + 2 * second) * len(claims)
    for now in range(NOW, NOW + 4 * bound, second):
        made = shared(claims, levels(claims, seen), nodes)
        claims = [attrs.evolve(each, nodes=made[each.name]) for each in claims]
        seen = {each.name: look(seen.get(each.name), each, aging=aging, now=now) for each in claims}
        for each in claims:
            served[each.name] = now if each.nodes else served.get(each.name, NOW)
            assert now - served[each.name] <= bound


def test_what_it_would_take_is_told_of_thousands_as_of_each_alone():
    """By the definition: each level that some topology would have to be before, with all that are as important then."""
    chance = random.Random(3)
    for _ in range(200):
        claims = [
            Claim(name=f"t{at}", level=chance.randrange(6), desired=chance.randrange(5), minimum=1, nodes=at % 2)
            for at in range(chance.randrange(1, 9))
        ]
        nodes = chance.randrange(12)
        for claim in (each for each in claims if not each.nodes):
            others = [each for each in claims if each is not claim]
            wished = {level: sum(each.desired for each in others if each.level <= level) for level in range(7)}
            levels = {max(each.level - 1, 0) for each in others}
            fitting = [level for level in levels if level < claim.level and wished[level] + 1 <= nodes]
            missing = wished[claim.level] + 1 - nodes
            said = f"{missing} more nodes" + (f", or priority {max(fitting)}" if fitting else "")
            found = remedies(claims, nodes)[claim.name]
            assert found == said if missing > 0 else found.startswith("nothing")

from __future__ import annotations

import itertools

import attrs
import pytest

from headworks.errors import DocumentError
from headworks.model import Kind, Stream
from headworks.model.rates import component_rates, stream_rates
from small_requests import component, topology, word_count


def spout(name="spout", rate=100.0):
    return component(name, kind=Kind.SPOUT, rate=rate)


def test_a_bolt_emits_its_input_times_its_selectivity():
    assert stream_rates(word_count().topologies[0]) == (100.0, 500.0)


def test_copy_streams_carry_all_and_split_streams_a_part():
    streams = [
        Stream(source="spout", target=name, fanout=fanout)
        for name, fanout in zip("abc", ("copy", "split", "split"), strict=True)
    ]
    made = topology("t", spout(), *map(component, "abc"), streams=tuple(streams))
    assert stream_rates(made) == (100.0, 50.0, 50.0)


def test_a_stated_rate_wins_and_counts_as_input_in_any_order_of_the_document():
    streams = (Stream(source="spout", target="b", rate=30.0), Stream(source="b", target="c"))
    parts = (spout(), component("b", selectivity=2.0), component("c"))
    for order in itertools.permutations(parts):
        assert stream_rates(topology("t", *order, streams=streams)) == (30.0, 60.0)


def test_a_source_without_a_rate_contributes_nothing():
    made = topology("t", spout(rate=None), component("b"), streams=(Stream(source="spout", target="b"),))
    assert stream_rates(made) == (0.0,)


def test_a_spout_without_a_rate_counts_as_one_tuple_a_second_where_shares_of_work_are_asked():
    streams = (Stream(source="spout", target="b"), Stream(source="other", target="b"), Stream(source="b", target="c"))
    parts = spout(rate=None), spout("other", 5.0), component("b", selectivity=3.0), component("c")
    made = topology("t", *parts, streams=streams)
    assert component_rates(made) == {"spout": 1.0, "other": 5.0, "b": 6.0, "c": 18.0}


def test_streams_that_all_state_their_rate_carry_it_round_a_cycle_too():
    streams = (Stream(source="a", target="b", rate=30.0), Stream(source="b", target="a", rate=20.0))
    assert stream_rates(topology("t", component("a"), component("b"), streams=streams)) == (30.0, 20.0)
    assert stream_rates(topology("t", component("a"))) == ()


LOOP = (
    Stream(source="spout", target="a"),
    Stream(source="a", target="b"),
    Stream(source="b", target="a", name="back"),
)


def test_a_cycle_without_a_rate_is_refused_by_name():
    made = topology("t", spout(), component("a"), component("b"), streams=LOOP)
    with pytest.raises(DocumentError, match=r"a -> b -> a|b -> a -> b") as caught:
        stream_rates(made, "/topologies/0")
    assert caught.value.pointer == "/topologies/0/streams"


def test_a_cycle_with_a_stated_rate_is_worked_out():
    streams = (*LOOP[:2], attrs.evolve(LOOP[2], rate=10.0))
    made = topology("t", spout(), component("a"), component("b"), streams=streams)
    assert stream_rates(made) == (100.0, 110.0, 10.0)

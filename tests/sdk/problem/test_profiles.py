from __future__ import annotations

import attrs
import numpy as np
import pytest

from headworks.errors import DocumentError
from headworks.model import Component, Kind, Stream, Topology
from headworks.model.rates import component_rates
from headworks.model.validate import check_request
from headworks.problem import Problem
from headworks.problem.arrays.profiles import FULL, Profiled, throughput
from hetero_cases import profiled


def test_cpu_is_e_times_rate_plus_met():
    model = Profiled.of(profiled([[0.1]], met=2.0))
    assert model.load(np.array([[1]]), 500.0).tolist() == [52.0]


def test_tasks_of_a_component_share_what_reaches_it():
    request = profiled([[1.0], [1.0], [1.0]], alpha=(1.0, 0.5, 2.0), rate=120.0)
    model = Profiled.of(request)
    assert model.gain.tolist() == [120.0, 120.0, 60.0]
    assert (model.gain / [1, 2, 3]).tolist() == [120.0, 60.0, 20.0]
    assert model.input_rate == 120.0


@pytest.mark.parametrize(("alpha", "last"), [(3.0, 3.0), (1.0, 1.0), (0.0, 0.0), (None, 2.0)])
def test_alpha_of_a_profile_stands_for_the_selectivity_that_the_component_states(alpha, last):
    request = profiled([[1.0], [1.0], [1.0]], alpha=(1.0, 2.0, 1.0))
    profiles = tuple(attrs.evolve(each, alpha=alpha) if each.component == "c1" else each for each in request.profiles)
    assert Profiled.of(attrs.evolve(request, profiles=profiles)).gain.tolist() == [1.0, 1.0, last]


def test_alpha_of_a_spout_is_refused_and_not_ignored():
    request = profiled([[1.0], [1.0]])
    check_request(attrs.evolve(request, profiles=(attrs.evolve(request.profiles[0], alpha=1.0),)))
    wrong = attrs.evolve(request, profiles=(request.profiles[1], attrs.evolve(request.profiles[0], alpha=3.0)))
    with pytest.raises(DocumentError, match="'c0' is a spout") as caught:
        check_request(wrong)
    assert caught.value.pointer == "/profiles/1/alpha"


@pytest.mark.parametrize(("fanout", "rates"), [("copy", (4.0, 4.0, 8.0)), ("split", (2.0, 2.0, 4.0))])
def test_output_is_copied_to_or_split_over_streams(fanout, rates):
    parts = (Component(id="a", kind=Kind.SPOUT, rate=4.0), *(Component(id=name) for name in "bcd"))
    streams = tuple(Stream(source=x, target=y, fanout=fanout) for x, y in ("ab", "ac", "bd", "cd"))
    found = component_rates(Topology(id="t", components=parts, streams=streams))
    assert [found[name] for name in "bcd"] == list(rates)


def test_the_highest_rate_fills_one_node_to_the_brim():
    model = Profiled.of(profiled([[0.1, 0.2], [0.3, 0.2]], met=5.0))
    counts = np.array([[1, 0], [1, 2]])
    factor = model.max_factor(counts, np.full(2, FULL))
    load = model.load(counts, factor)
    assert load.max() == pytest.approx(FULL)
    assert factor == pytest.approx(90 / 0.2)
    assert model.max_factor(np.array([[21, 0], [0, 1]]), np.full(2, FULL)) == 0.0


def test_throughput_of_any_placement_is_scored():
    request = profiled([[0.1, 0.2]])
    problem = Problem.of(request)
    assert throughput(problem, np.array([0])) == pytest.approx(1000.0)
    assert problem.plan([1]).scores.throughput == pytest.approx(500.0)
    assert problem.plan([-1]).scores.throughput is None
    assert Problem.of(attrs.evolve(request, profiles=())).plan([0]).scores.throughput is None


def test_a_machine_type_without_profile_has_no_known_throughput():
    request = profiled([[0.1, 0.2]])
    some = attrs.evolve(request, profiles=request.profiles[:1])
    assert Problem.of(some).plan([0]).scores.throughput == pytest.approx(1000.0)
    assert Problem.of(some).plan([1]).scores.throughput is None

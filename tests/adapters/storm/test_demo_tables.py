"""Tables and page of the demo: what each placement bears stands there where nodes are apart, and only there."""

from __future__ import annotations

import attrs

from headgate.model import Cluster, Component, FrozenMap, Kind, Node, Observation, Resources, Slot, Topology
from headgate.model.metrics import Metrics, TopologySample
from headgate_storm.demo.experiment import Measured
from headgate_storm.demo.run import StormDemoResult, TriedPlacement
from headgate_storm.demo.show import APART, BEARS, SHARED, data, html, note, rows, times


def found(*, apart: bool) -> StormDemoResult:
    """Two placements of one task, the second of which was not loaded to its limit."""
    topology = Topology(id="t", components=(Component(id="lines", kind=Kind.SPOUT),))
    seen = Observation(
        cluster=Cluster(nodes=(Node(id="n", capacity=Resources(cpu=100), slots=(1,)),)),
        topologies=(topology,),
        assignment=FrozenMap({"t/lines/0": Slot("n", 1)}),
        metrics=Metrics(topologies=(TopologySample(topology="t", offered=400.0, throughput=399.6, latency=6.94),)),
    )
    own = TriedPlacement(label="Storm alone", measured=Measured.of(seen), bears=1463.2 if apart else None)
    seats = attrs.evolve(own, label="by seats", bears=None)
    return StormDemoResult(
        storm="2.8.3", load=0.7, apart=apart, ready=1.0, seconds=2.0, memory_mb=3.0, phases=(own, seats)
    )


def test_what_a_placement_bears_stands_where_nodes_are_apart():
    assert times(found(apart=True)) == [("Storm alone", "400", "6.9", "1,463"), ("by seats", "400", "6.9", "-")]
    assert times(found(apart=False)) == []
    assert (APART in note(found(apart=True)), SHARED in note(found(apart=True))) == (True, False)
    assert (APART in note(found(apart=False)), SHARED in note(found(apart=False))) == (False, True)
    assert len(rows(found(apart=True))) == len(rows(found(apart=False))) == 2


def test_the_page_and_the_document_have_it_too():
    assert BEARS in html(found(apart=True))
    assert "1,463" in html(found(apart=True))
    assert BEARS not in html(found(apart=False))
    assert [each["bears"] for each in data(found(apart=True))["phases"]] == [1463.2, None]
    assert [each["bears"] for each in data(found(apart=False))["phases"]] == [None, None]

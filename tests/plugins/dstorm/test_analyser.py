"""The boundary checks of the System Analyser."""

from __future__ import annotations

import pytest

from headworks.model import (
    Cluster,
    Component,
    FrozenMap,
    Metrics,
    Node,
    NodeSample,
    Observation,
    Resources,
    Slot,
    Topology,
    TopologySample,
)
from headworks_dstorm.options import Options
from headworks_dstorm.plugin import dstorm


def observe(
    *, cpu=(80, 80, 80), offered=1000.0, throughput=1000.0, latency=100.0, interval=None, hosts=(0, 1, 2)
) -> Observation:
    """Three nodes of 100 points, one task on each of `hosts`."""
    nodes = tuple(Node(id=f"n{number}", capacity=Resources(cpu=100, memory=1000)) for number in range(3))
    return Observation(
        cluster=Cluster(nodes=nodes),
        topologies=(Topology(id="t", components=(Component(id="c", parallelism=len(hosts)),)),),
        assignment=FrozenMap({f"t/c/{index}": Slot(f"n{host}", 0) for index, host in enumerate(hosts)}),
        metrics=Metrics(
            nodes=tuple(NodeSample(node=f"n{number}", cpu=float(used)) for number, used in enumerate(cpu)),
            topologies=(
                TopologySample(
                    topology="t", offered=offered, throughput=throughput, latency=latency, interval=interval
                ),
            ),
        ),
    )


@pytest.mark.parametrize(
    ("seen", "state"),
    [
        ({}, "normal"),
        ({"cpu": (99, 99, 99)}, "normal"),  # high utilisation alone changes nothing
        ({"throughput": 900.0}, "unsatisfactory"),
        ({"throughput": 960.0}, "normal"),  # within the tolerance
        ({"latency": 501.0}, "unsatisfactory"),
        ({"latency": 500.0}, "normal"),
        ({"latency": 4_000.0, "interval": 2.0}, "normal"),  # a batch may take twice the time to the next
        ({"latency": 4_001.0, "interval": 2.0}, "unsatisfactory"),
        ({"latency": 500.0, "interval": 0.1}, "normal"),
        ({"cpu": (20, 20, 80)}, "consolidation"),
        ({"cpu": (20, 80, 80)}, "normal"),  # no majority
        ({"cpu": (20, 20, 80), "throughput": 900.0}, "unsatisfactory"),  # performance comes first
        ({"cpu": (20, 20, 20), "offered": None}, "normal"),  # no load, nothing to match
        ({"throughput": None, "latency": None}, "normal"),
        ({"cpu": (80, 0, 0), "hosts": (0, 0, 0)}, "normal"),  # idle nodes cannot be emptied
        ({"cpu": (20, 20, 0), "hosts": (0, 1, 1)}, "consolidation"),
        ({"hosts": (0, 1, 7)}, "unassigned"),  # node n7 is gone
    ],
)
def test_states(seen, state: str) -> None:
    verdict = dstorm.headworks_analyse(observe(**seen), Options())
    assert verdict.state == state
    assert verdict.replan == (state != "normal")
    assert bool(verdict.reasons) == verdict.replan
    assert verdict.interval == (600.0 if state in ("unsatisfactory", "consolidation") else 0.0)


def test_reasons_name_subject_and_numbers() -> None:
    verdict = dstorm.headworks_analyse(observe(throughput=10.0, latency=700.0), Options(latency_constraint=600))
    assert len(verdict.reasons) == 2
    assert "t completes 10 of 1000" in verdict.reasons[0]
    assert "700 ms" in verdict.reasons[1]
    assert "600" in verdict.reasons[1]


def test_thresholds_are_options() -> None:
    satisfied = Options(scheduling_interval=60.0)
    assert dstorm.headworks_analyse(observe(throughput=900.0), satisfied).interval == 60.0
    low = observe(cpu=(20, 20, 80))
    assert not dstorm.headworks_analyse(low, Options(consolidation_threshold=0.1)).replan
    slow = observe(throughput=900.0)
    assert not dstorm.headworks_analyse(slow, Options(throughput_tolerance=0.2)).replan
    assert Options().scheduling_interval == 600  # ten minutes, section 5.5.1.2

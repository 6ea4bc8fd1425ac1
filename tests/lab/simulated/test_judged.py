"""The simulator beside the experiments on real engines that the documentation has."""

from __future__ import annotations

from pathlib import Path

import pytest

from headworks import PluginHost
from headworks_lab.benchmarks.simulator.judged import FAR, error, recorded, simulated

PAGE = Path(__file__).parents[3] / "docs" / "results-experiments.md"
APART = ("even", "isolation", "otd")
TOGETHER = ("dstorm", "resource-aware")
NOISY = ("spark", "storm:rolling-count", "isolation")
"""Three repetitions from 169 to 223 rows/s, where others of the same placement have 222 and 228."""
WORKLOADS = ("rolling-count", "unique-visitors", "word-count")


@pytest.fixture(scope="module")
def real():
    return recorded(PAGE.read_text())


@pytest.fixture(scope="module")
def host():
    return PluginHost.load([*APART, *TOGETHER, "storm"])


def test_the_tables_are_read(real):
    assert len(real) == 2 * 3 * 13
    assert real["storm", "storm:word-count", "even", 1e6] == {"throughput": [522], "latency": [1323], "nodes": [3]}
    assert real["spark", "storm:unique-visitors", "spark", 1e6]["throughput"] == [2135]


@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("engine", ["storm", "spark"])
def test_full_networks_complete_what_was_measured(real, host, engine, workload):
    for scheduler in APART:
        key = (engine, f"storm:{workload}", scheduler, 1e6)
        found = simulated(host, *key)
        assert found["nodes"] == real[key]["nodes"][0]
        if key[:3] != NOISY:
            assert abs(error(real[key], found, "throughput")) <= FAR[engine]


@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("engine", ["storm", "spark"])
def test_one_node_completes_all_as_late_as_was_measured(real, host, engine, workload):
    for scheduler in TOGETHER:
        key = (engine, f"storm:{workload}", scheduler, 1e6)
        found = simulated(host, *key)
        assert abs(error(real[key], found, "throughput")) <= 0.01
        assert abs(error(real[key], found, "latency")) <= 0.15

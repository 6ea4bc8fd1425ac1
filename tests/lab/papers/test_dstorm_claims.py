"""Claims and workloads behave as they say."""

from __future__ import annotations

import pytest

from headworks.problem import Problem
from headworks_dstorm.plugin import dstorm
from headworks_dstorm.workloads import SHAPES, BenchmarkSetting, micro_benchmark
from headworks_lab.evidence.claims import reproduce
from headworks_lab.papers.dstorm_claims import claims

CLAIMS = {claim.id: claim for claim in claims()}
WORKLOADS = {workload.name: workload for workload in dstorm.headworks_workloads()}


def test_what_is_not_reproduced_is_listed_too() -> None:
    known = {name for name, claim in CLAIMS.items() if reproduce(claim).status == "not reproducible"}
    assert {"saved-star", "saved-mean", "url-cost", "latency-tsa", "time-tsa"} <= known


@pytest.mark.parametrize(("shape", "traffic"), [("linear", 7500), ("diamond", 10_000), ("star", 7500)])
def test_traffic_of_the_micro_benchmark(shape: str, traffic: float) -> None:
    assert Problem.of(micro_benchmark(shape, BenchmarkSetting())).plan(_nowhere(shape)).scores.traffic == traffic


def _nowhere(shape: str) -> list[int]:
    return [-1] * Problem.of(micro_benchmark(shape, BenchmarkSetting())).n


def test_selectivity_applies_to_spouts_too() -> None:
    request = micro_benchmark("linear", BenchmarkSetting(ss=2))
    assert Problem.of(request).plan([-1] * 16).scores.traffic == 2500 * (2 + 4 + 8)


def test_every_shape_is_a_workload_at_its_defaults() -> None:
    assert set(SHAPES) < set(WORKLOADS)

"""The bake-off of engines: each is in the code by its name, and what takes its place is called."""

from __future__ import annotations

from pkgutil import resolve_name

import pytest

from headworks_dstorm.workloads import BenchmarkSetting, micro_benchmark
from headworks_lab.benchmarks.schedulers.engines import ALL, ENGINES, Bench, Outcome, row


@pytest.mark.parametrize("target", sorted({target for own in ENGINES.values() for target, _ in own.values()}))
def test_each_engine_is_in_the_code(target):
    assert callable(resolve_name(target))


def test_a_request_is_planned_again_without_each_engine_that_was_called():
    found = Bench("traffic", 0.02).outcomes(micro_benchmark("linear", BenchmarkSetting(cs=40)))
    assert found.keys() == {ALL, *found[ALL].used}
    assert found[ALL].proven
    assert {"chains", "patterns listed in full"} <= found.keys() < {ALL, *ENGINES["traffic"]}


def test_what_an_engine_was_not_called_for_counts_as_the_same_without_it():
    best, unproven, worse = (
        Outcome(figure, proven, 1.0, ()) for figure, proven in ((-0.1, True), (-0.1, False), (-0.3, True))
    )
    found = [{ALL: best, "cuts": unproven}, {ALL: best, "cuts": worse}, {ALL: best}]
    assert row("cuts", found, relative=False) == ("cuts", "2", "2", "1", "0", "1", "0", "20.00%", "3")

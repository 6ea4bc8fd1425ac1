from __future__ import annotations

import attrs
import pytest

from headgate.model import FrozenMap, Metrics, Slot, TaskSample
from headgate_hetero.profiling import fit, fixed_cost, measured_profiles
from headgate_hetero.workloads import BOLTS, bench
from hetero_cases import profiled


def test_met_is_what_e_does_not_explain():
    assert fixed_cost(52.0, 500.0, 0.1) == pytest.approx(2.0)
    assert fixed_cost(10.0, 500.0, 0.1) == 0.0


def test_points_are_fitted():
    assert fit([(100.0, 12.0), (500.0, 52.0), (900.0, 92.0)]) == pytest.approx((0.1, 2.0))
    assert fit([(100.0, 10.0)]) == pytest.approx((0.1, 0.0))
    assert fit([(100.0, 5.0), (200.0, 20.0)])[1] == 0.0
    assert fit([(100.0, 20.0), (200.0, 10.0)]) == (0.0, 15.0)
    with pytest.raises(ValueError, match="rate above 0"):
        fit([(0.0, 3.0)])


@pytest.mark.parametrize(
    ("bolt", "kind", "met"),
    [
        ("rolling-count", "i3", 6.7),
        ("rolling-count", "i5", 8.2),
        ("split", "amd", 35.4),
        ("rolling-count", "amd", 23.8),
    ],
)
def test_fixed_cost_of_measured_bolts(bolt, kind, met):
    (found,) = [each for each in bench("rolling-count", (1, 1, 1)).profiles
                if (each.component, each.machine_type) == (bolt, kind)]  # fmt: skip
    assert found.met == pytest.approx(met, abs=0.05)
    assert found.e == 1 / BOLTS["rolling-count"][bolt][kind][2]


def test_profiles_come_from_what_was_measured():
    request = profiled([[0.1, 0.2]])
    seen = attrs.evolve(
        request,
        assignment=FrozenMap({"t/c0/0": Slot("m1-000", 0)}),
        metrics=Metrics(tasks=(TaskSample(task="t/c0/0", cpu=40.0, emitted=200.0),)),
    )
    (found,) = measured_profiles(seen)
    assert (found.component, found.machine_type, found.e, found.met) == ("c0", "m1", pytest.approx(0.2), 0.0)
    assert measured_profiles(request) == ()

from __future__ import annotations

import pytest

from headworks_hetero.workloads import BOLTS, bench, fixed_cost


def test_met_is_what_e_does_not_explain():
    assert fixed_cost(52.0, 500.0, 0.1) == pytest.approx(2.0)
    assert fixed_cost(10.0, 500.0, 0.1) == 0.0


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

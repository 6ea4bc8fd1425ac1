from __future__ import annotations

import pytest

from headgate.claims import reproduce
from headgate.hooks import Claim


def claim(printed, ours, **more):
    return Claim(id="c", source="Table 1", statement="s", printed=printed, verify=lambda: ours, **more)


@pytest.mark.parametrize(
    ("made", "status"),
    [
        (claim(10.0, 10.4, tolerance=0.05), "exact"),
        (claim(10.0, 10.6, tolerance=0.05), "differs"),
        (claim(-10.0, -10.4, tolerance=0.05), "exact"),
        (claim("a", "a"), "exact"),
        (claim("a", "b"), "differs"),
        (claim(10.0, 20.0, expected=False, note="misprint"), "not reproducible"),
        (claim(10.0, 10.0, expected=False, note="misprint"), "differs"),
        (claim(0.0, 0.0), "exact"),
        (claim(1.0, 1.0, basis="calibrated", fitted=3), "calibrated"),
        (claim(1.0, 1.0, basis="predicted"), "predicted"),
    ],
)
def test_a_claim_holds_within_its_tolerance(made, status):
    result = reproduce(made)
    assert result.status == status
    assert (result.printed, result.ours, result.note) == (made.printed, made.verify(), made.note)


def test_a_claim_that_cannot_be_computed_says_what_is_missing():
    made = Claim(id="c", source="Fig. 1", statement="s", printed=1.0, note="needs the cluster")
    result = reproduce(made)
    assert (result.status, result.ours, result.note) == ("not reproducible", None, "needs the cluster")

from __future__ import annotations

import pytest

from headgate.claims import reproduce
from headgate.hooks import Claim


def claim(printed, ours, **more):
    return Claim(id="c", source="Table 1", statement="s", printed=printed, verify=lambda: ours, **more)


@pytest.mark.parametrize(
    ("made", "status"),
    [
        (claim(10.0, 10.4, tolerance=0.05), "reproduced"),
        (claim(10.0, 10.6, tolerance=0.05), "differs"),
        (claim(-10.0, -10.4, tolerance=0.05), "reproduced"),
        (claim("a", "a"), "reproduced"),
        (claim("a", "b"), "differs"),
        (claim(10.0, 20.0, expected=False, note="misprint"), "known"),
        (claim(10.0, 10.0, expected=False, note="misprint"), "differs"),
        (claim(0.0, 0.0), "reproduced"),
    ],
)
def test_a_claim_holds_within_its_tolerance(made, status):
    result = reproduce(made)
    assert result.status == status
    assert (result.printed, result.ours, result.note) == (made.printed, made.verify(), made.note)

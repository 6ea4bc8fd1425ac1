from __future__ import annotations

import pytest

from headgate.claims import count, distance, number_notes, reproduce, standing, summary
from headgate.evidence_spec import Claim


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


def test_a_computation_that_breaks_is_a_figure_that_differs():
    result = reproduce(Claim(id="c", source="T1", statement="s", printed=1.0, verify=lambda: 1 / 0), "paper")
    assert (result.plugin, result.status, result.ours) == ("paper", "differs", None)
    assert result.note == "could not be computed: ZeroDivisionError: division by zero"


def test_results_are_counted_and_their_notes_numbered():
    made = [claim(10.0, 10.4, tolerance=0.05), claim(1.0, 2.0, expected=False, note="b"), claim("a", "a", note="a")]
    made += [claim(3.0, 3.0, basis="calibrated", fitted=2, note="b")]
    results = [reproduce(each) for each in made]
    assert list(count(results).values()) == [2, 0, 1, 1, 0]
    assert summary(results) == "4 figures: 2 exact, 1 calibrated, 1 not reproducible, 0 differs"
    notes = number_notes(results)
    assert [standing(each, notes) for each in results] == [
        "exact",
        "not reproducible [1]",
        "exact [2]",
        "calibrated (2) [1]",
    ]
    assert [distance(each) for each in results] == ["+4.0%", "+100.0%", "", ""]

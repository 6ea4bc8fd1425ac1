from __future__ import annotations

import math
import sys

import pytest

from headworks_lab.evidence.claims import (
    allowed,
    amount,
    apart,
    count,
    counted_once,
    counts,
    distance,
    figures,
    number_notes,
    reproduce,
    status_text,
    summary,
)
from headworks_lab.evidence.model import Claim, Interval


def claim(printed, ours, **more):
    given = {"id": "c", "source": "Table 1", "statement": "s", **more}
    return Claim(printed=printed, verify=None if ours is None else lambda: ours, **given)


def by_hand(figure, ours, **more):
    return Claim(id="c", source="by hand", statement="s", by_hand=figure, verify=lambda: ours, **more)


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
        (claim(1.0, 1.0, fitted=("a", "b")), "calibrated"),
        (claim(1.0, 1.0, model=True, fitted=("a",)), "calibrated"),
        (claim(1.0, 1.0, model=True), "predicted"),
        (claim(6.0, 5.9, less=True), "exact"),
        (claim(6.0, 0.0, less=True, fitted=("a",)), "calibrated"),
        (claim(6.0, 6.0, less=True), "differs"),
        (claim(6.0, 6.1, less=True, tolerance=0.5), "differs"),
        (claim(1.0, 5.0, measured=True), "measured"),
        (claim(1.0, 1.1, variant="v", note="n", tolerance=0.2), "by the variant"),
        (claim(1.0, 1.3, variant="v", tolerance=0.2), "differs"),
        (by_hand(20.0, 20.0), "worked by hand"),
        (by_hand("a", "b"), "differs"),
    ],
)
def test_a_claim_holds_within_its_tolerance_or_below_its_bound(made, status):
    result = reproduce(made)
    assert result.status == status
    assert (result.printed, result.by_hand, result.ours) == (made.printed, made.by_hand, made.verify())
    assert (result.tolerance, result.fitted) == (made.tolerance, made.fitted)
    assert result.note == "; ".join(filter(None, (made.variant and f"by {made.variant}", made.note)))


@pytest.mark.parametrize("given", [{}, {"printed": 1.0, "by_hand": 1.0}])
def test_a_figure_is_printed_or_worked_by_hand(given):
    with pytest.raises(ValueError, match="claim c: either a printed figure or one worked by hand"):
        Claim(id="c", source="s", statement="s", **given)


def test_choices_are_named_one_by_one():
    with pytest.raises(TypeError, match="'slow' is one text"):
        claim(1.0, 1.0, fitted="slow")


def test_a_claim_that_cannot_be_computed_says_what_is_missing():
    made = Claim(id="c", source="Fig. 1", statement="s", printed=1.0, tolerance=0.1, note="needs the cluster")
    result = reproduce(made)
    assert (result.status, result.ours, result.note) == ("not reproducible", None, "needs the cluster")
    assert figures(result) == ("1", "", "", "")


BROKEN = {
    "raises": (lambda: 1 / 0, "ZeroDivisionError: division by zero (evidence/test_claims.py:"),
    "exits": (lambda: sys.exit(0), "SystemExit: 0 (evidence/test_claims.py:"),
    "no figure": (lambda: math.nan, "ValueError: nan is not a figure"),
    "without end": (lambda: math.inf, "ValueError: inf is not a figure"),
}


@pytest.mark.parametrize(("verify", "why"), BROKEN.values(), ids=BROKEN)
def test_a_computation_that_breaks_is_a_figure_that_differs(verify, why):
    result = reproduce(Claim(id="c", source="T1", statement="s", printed=1.0, verify=verify), "paper")
    assert (result.plugin, result.status, result.ours) == ("paper", "differs", None)
    assert result.note.startswith(f"could not be computed: {why}")


def test_what_follows_from_other_figures_says_so_and_is_no_evidence_of_its_own():
    result = reproduce(claim(3.0, 3.0, model=True, follows=("a", "b"), note="roughly"))
    assert (result.status, result.note) == ("follows", "follows from a, b; roughly")
    missed = reproduce(claim(3.0, 4.0, model=True, follows=("a",), expected=False))
    assert (missed.status, missed.note) == ("not reproducible", "follows from a")


def test_results_are_counted_and_their_notes_numbered():
    made = [
        claim(10.0, 10.4, id="1", tolerance=0.05),
        claim(1.0, 2.0, id="2", expected=False, note="b"),
        claim("a", "a", id="3", note="a"),
        claim(3.0, 3.0, id="4", fitted=("x", "y"), note="b"),
        claim(4.0, 4.0, id="5", fitted=("y",)),
    ]
    results = [reproduce(each) for each in made]
    assert list(count(results).values()) == [2, 0, 2, 0, 0, 0, 0, 1, 0]
    assert counts({"p": results})[1] == (("p", 5, 2, 0, 2, 0, 0, 1, 0),)
    columns, (row,) = counts({"p": [*results, reproduce(claim(1.0, 2.0, measured=True))]})
    assert (row[1], row[columns.index("measured")]) == (6, 1)
    assert summary(results) == (
        "5 printed figures in 5 claims: 2 exact, 2 calibrated (by 2 choices), 1 not reproducible, 0 differs"
    )
    notes = number_notes(results)
    assert [status_text(each, notes) for each in results] == [
        "exact",
        "not reproducible [1]",
        "exact [2]",
        "calibrated (2) [1]",
        "calibrated (1)",
    ]
    assert [distance(each) for each in results] == ["+4.0%", "+100.0%", "", "", ""]
    assert [allowed(each) for each in results] == ["5%", "", "", "", ""]


def test_a_figure_counts_once_however_often_it_is_claimed():
    same = [claim(printed, 19.5, id=f"{printed}", model=True, tolerance=0.1, family="T_E") for printed in (19.1, 19.3)]
    other = [
        claim(24.0, 24.0, id="other", model=True, family="T_E"),
        claim(19.5, 19.5, id="alone", model=True),
        claim("<5,4>", "<3,4>", id="three", expected=False, family="Fig. 13"),
        claim("<5,4>", "<8,8>", id="nine", expected=False, family="Fig. 13"),
    ]
    results = [reproduce(each) for each in (*same, *other)]
    assert summary(results) == "4 printed figures in 6 claims: 3 predicted, 1 not reproducible, 0 differs"
    elsewhere = [reproduce(same[0], "one"), reproduce(same[1], "two")]
    assert summary(elsewhere) == "2 printed figures in 2 claims: 2 predicted, 0 differs"


def test_one_figure_for_several_printed_ones_is_said_with_their_spread():
    flat = [
        claim(printed, 27.4, id=f"{printed}", model=True, tolerance=0.1, family="T_E", note=note)
        for printed, note in ((26.3, "a"), (26.6, ""), (25.9, ""))
    ]
    other = claim(30.0, 30.0, id="other", model=True, family="T_E")
    results = counted_once([reproduce(each) for each in (*flat, other)])
    spread = "one figure of ours for 3 printed ones, 25.9 to 26.6: it counts once"
    assert [each.note for each in results] == [f"a; {spread}", spread, spread, ""]
    assert summary(results) == "2 printed figures in 4 claims: 2 predicted, 0 differs"


def test_what_comes_out_by_a_variant_is_counted_apart():
    results = [reproduce(claim(1.0, 1.1, variant="v", tolerance=0.2)), reproduce(claim(2.0, 2.0, id="2"))]
    assert summary(results) == "2 printed figures in 2 claims: 1 exact, 1 by a variant, 0 differs"
    assert "by the variant" in counts({"p": results})[0]
    assert "by the variant" not in counts({"p": results[1:]})[0]


def test_what_no_paper_prints_stands_and_counts_apart():
    results = [reproduce(claim(1.0, 1.0, id="a")), reproduce(by_hand(20.0, 20.0))]
    assert summary(results) == "1 printed figures in 2 claims: 1 exact, 0 differs; 1 worked by hand"
    tables = list(apart("paper", results))
    assert [(heading, rows) for _, heading, rows in tables] == [("printed", results[:1]), ("by hand", results[1:])]
    assert [heading for _, heading, _ in apart("paper", results[1:])] == ["by hand"]


def test_a_bound_is_shown_as_one():
    result = reproduce(claim(6.0, 5.56, less=True))
    assert figures(result) == ("< 6", "5.56", "", "")
    assert amount(12345.6) == "12,346"


def test_of_repetitions_the_median_is_judged_and_the_interval_is_shown():
    result = reproduce(claim(0.44, Interval(0.4, 0.31, 0.5234), measured=True))
    assert (result.ours, result.low, result.high, result.status) == (0.4, 0.31, 0.5234, "measured")
    assert figures(result) == ("0.44", "0.4\n(0.31 to 0.523)", "-9.1%", "")
    assert reproduce(claim(1.0, Interval(1.2), tolerance=0.1)).status == "differs"
    assert figures(reproduce(claim(1.0, Interval(1.0))))[1] == "1"
    assert reproduce(claim(1.0, Interval(math.nan, 0.0, 1.0))).status == "differs"

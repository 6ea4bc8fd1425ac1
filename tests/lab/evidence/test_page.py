"""Charts and the page of printed figures beside ours."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from headworks_lab.evidence.claims import reproduce
from headworks_lab.evidence.model import Claim, Point
from headworks_lab.evidence.page import charts, evidence_page
from headworks_lab.evidence.variants import Improved
from headworks_lab.report.chart import Dot, chart_svg

SVG = "{http://www.w3.org/2000/svg}"


def result(printed, ours, chart="Fig. 1", series="a", x=1.0, **more):
    made = Claim(
        id=f"{series}-{x}",
        source="Fig. 1",
        statement="s & t",
        printed=printed,
        verify=None if ours is None else lambda: ours,
        point=Point(chart=chart, series=series, x=x),
        **more,
    )
    return reproduce(made, "paper")


def drawn(*dots):
    return ElementTree.fromstring(chart_svg("a chart", dots))


def heights(picture):
    """Height of each bar, printed ones first."""
    return [
        [float(bar.get("height")) for bar in half.iter(f"{SVG}rect") if bar.find(f"{SVG}title") is not None]
        for half in picture.iter(f"{SVG}g")
    ]


def test_bars_stand_side_by_side_on_one_scale():
    printed, ours = heights(
        drawn(Dot(series="a", x="n", printed=10.0, ours=5.0), Dot(series="a", x="m", printed=20.0, ours=None))
    )
    assert len(printed) == 2
    assert len(ours) == 1
    assert printed[1] == pytest.approx(2 * printed[0])
    assert ours[0] == pytest.approx(printed[0] / 2)


def test_numbers_on_the_axis_make_lines_in_their_order():
    picture = drawn(*(Dot(series="a", x=x, printed=x, ours=2 * x) for x in (3.0, 1.0, 2.0)))
    for half in picture.iter(f"{SVG}polyline"):
        xs, ys = zip(*(map(float, point.split(",")) for point in half.get("points").split()), strict=True)
        assert list(xs) == sorted(xs)
        assert list(ys) == sorted(ys, reverse=True)
    assert len(list(picture.iter(f"{SVG}circle"))) == 6


def test_what_is_not_recomputed_is_said_in_the_empty_half():
    assert "not reproducible" in chart_svg("t", [Dot(series="a", x=1.0, printed=3.0, ours=None)])
    assert "not reproducible" not in chart_svg("t", [Dot(series="a", x=1.0, printed=3.0, ours=3.0)])


@pytest.mark.parametrize("figure", [0.0, -5.0, 1e-9, 1e12])
def test_any_figure_can_be_drawn(figure):
    text = chart_svg("t", [Dot(series="a", x="n", printed=figure, ours=figure)])
    assert not re.search(r"nan|inf\b", text)
    ElementTree.fromstring(text)


def test_charts_collect_their_points_and_leave_out_words():
    found = charts([result(1.0, 2.0), result("falls", "falls", x=2.0), result(3.0, None, chart="Fig. 2", note="n")])
    assert [(chart, [(dot.printed, dot.ours) for dot in dots]) for chart, dots in found.items()] == [
        ("Fig. 1", [(1.0, 2.0)]),
        ("Fig. 2", [(3.0, None)]),
    ]


def test_the_page_has_every_figure_its_note_and_its_chart():
    text = evidence_page({"paper": [result(1.0, 1.0), result(2.0, None, x=2.0, note="needs <the> cluster")]}, {})
    assert "2 printed figures in 2 claims: 1 exact, 1 not reproducible, 0 differs" in text
    assert "s &amp; t" in text
    assert "[1] needs &lt;the&gt; cluster" in text
    assert text.count("<svg") == 1
    assert "<script" not in text


def test_the_page_shows_variants_beside_the_optimum():
    row = Improved(
        plugin="plus", id="i", variant="plus", published="paper", statement="tuples/s & more", paper=1.5, ours=2.0,
        bound=4.0, more=True, status="bound", note="a <note>",
    )  # fmt: skip
    text = evidence_page({}, {}, [row])
    assert "plus, an improved variant of paper" in text
    assert "<td>1.5</td><td>2</td><td>&lt;= 4</td><td>62.5%</td><td>50.0%</td>" in text
    assert "bound [1]" in text
    assert "[1] a &lt;note&gt;" in text
    assert "1 improvements; optimum: 1 bound" in text
    assert "printed figures in" not in text

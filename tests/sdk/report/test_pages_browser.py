"""Pages of tables and pictures in a real browser, on a telephone and on a screen: nothing runs out of them."""

from __future__ import annotations

import pytest

from browser import browser
from headworks.api import compare
from headworks.plugins.host import PluginHost
from headworks.report.curves import Curve, CurvePanel, curves_svg
from headworks.report.html import Panel, Table, comparison_page, page
from headworks.testing import FirstFit
from small_requests import component, node, request, topology

pytestmark = pytest.mark.browser

BEYOND = """const wide = document.documentElement.clientWidth;
return [...document.querySelectorAll("body *")].filter((each) => !each.parentElement.closest(".scroll, figure")
  && each.getBoundingClientRect().right > wide + 1).map((each) => each.outerHTML.slice(0, 80))"""
SMALLEST = """return Math.min(...[...document.querySelectorAll("svg text")].map((each) =>
  parseFloat(getComputedStyle(each).fontSize) * each.getScreenCTM().a))"""
TOPS = "return [...document.querySelectorAll(arguments[0])].map((each) => each.getBoundingClientRect().top)"
CURVE = curves_svg([CurvePanel(title="latency, s", curves=(Curve(name="even", points=((1.0, 2.0), (9.0, 3.0))),))])


def compared():
    asked = request([node(f"node-{at}") for at in range(12)], [topology("t", component("c", 40, 1.0))])
    host = PluginHost().with_plugin("first-fit", FirstFit()).with_plugin("again", FirstFit())
    return comparison_page(compare(asked, ["first-fit", "again"], host=host), asked)


def mixed():
    columns = tuple(f"figure {number}" for number in range(30))
    table = Table(columns=columns, rows=(columns, columns), title="Many", notes=("a note " * 40,))
    said = "a long caption " * 20
    return page("T", ["one " * 80], [table, Panel(title="Many", svg=CURVE, more=(CURVE, CURVE), caption=said)])


@pytest.fixture(scope="module")
def window(tmp_path_factory):
    with browser(tmp_path_factory.mktemp("browser")) as made:
        yield made


@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize("made", [compared, mixed])
def test_nothing_runs_out_of_a_page_and_its_pictures_can_be_read(window, tmp_path, made, width):
    path = tmp_path / "page.html"
    path.write_text(made())
    window.size(width)
    window.open(path.as_uri())
    assert window.run("return document.documentElement.scrollWidth") <= width
    assert window.run(BEYOND) == []
    assert window.run(SMALLEST) >= 7


def test_pictures_are_side_by_side_where_there_is_room(window, tmp_path):
    path = tmp_path / "page.html"
    small = [Panel(title=name, svg=CURVE, caption="what it shows " * 20) for name in "ab"]
    path.write_text(mixed().replace("</body>", page("T", [], small).partition("<h1>")[2]))
    for width, rows in [(1400, (2, 1)), (400, (3, 2))]:
        window.size(width)
        window.open(path.as_uri())
        assert len(set(window.run(TOPS, "figure.many svg"))) == rows[0]
        assert len(set(window.run(TOPS, ".panels:last-child h2"))) == rows[1]

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from headworks.api import Compared, Comparison, compare
from headworks.model import Plan, Scores, Status
from headworks.plugins.host import PluginHost
from headworks.report.html import Panel, Table, comparison_page, page
from headworks.report.trade_offs import trade_offs_svg
from headworks.testing import FirstFit
from small_requests import component, node, request, topology, word_count

VOID = {"meta", "!doctype"}
FETCHING = {"script", "link", "iframe", "img", "object", "embed", "base"}


class Reader(HTMLParser):
    """Fails where tags do not match or something would be fetched; keeps the text."""

    def __init__(self):
        super().__init__()
        self.open, self.text = [], []

    def handle_starttag(self, tag, attrs):
        assert tag not in FETCHING
        assert not any(name in ("src", "href", "style") or name.startswith("on") for name, _ in attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def read(text):
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    assert "url(" not in text
    assert "@import" not in text
    return reader.text


def test_a_page_holds_its_parts_in_order_and_escapes_them():
    table = Table(columns=("a<b", "c"), rows=((1, None), ("<i>", "x")), caption="c&d")
    text = read(page("T<1>", ["one", "two"], [table, Panel(title="P", svg="<svg></svg>", caption="<s>")]))
    kept = [each for each in text if not each.startswith(":root")]
    assert [each for each in kept if each.strip()] == [
        "T<1>",
        "T<1>",
        "one",
        "two",
        "c&d",
        "a<b",
        "c",
        "1",
        "<i>",
        "x",
        "P",
        "<s>",
    ]


@pytest.mark.parametrize(
    "asked", [word_count(), request([], []), request([node("a", 10.0)], [topology("<t>", component("c"))])]
)
def test_a_comparison_is_a_page_with_a_row_and_a_picture_a_scheduler(asked):
    host = PluginHost().with_plugin("first-fit", FirstFit()).with_plugin("again", FirstFit())
    text = comparison_page(compare(asked, ["first-fit", "again"], host=host), asked)
    words = read(text)
    assert words.count("first-fit") == words.count("again") == 2
    whole = "<h2>Plans against each other</h2>" in text
    assert text.count("<svg") == 2 + whole
    assert whole == ("infeasible" not in words)


def test_plans_are_drawn_against_each_other_in_the_figures_in_which_they_differ():
    made = ((2, 0.4, None), (3, 0.1, 3.0), (3, 0.1, 3.0))
    scores = [Scores(nodes_used=nodes, share=share, factor=1.0, cost=cost) for nodes, share, cost in made]
    plans = [*(Plan(scores=each) for each in scores), Plan(status=Status.HELD)]
    rows = tuple(Compared(scheduler="<s>", setting=f"x={at}", plan=plan, seconds=0.1) for at, plan in enumerate(plans))
    picture = trade_offs_svg(Comparison(request="", plans=rows))
    words = read(picture)
    assert [each for each in words if each.endswith(("x=0", "x=1", "x=2", "x=3"))] == [
        "1  <s> x=0",
        "2  <s> x=1",
        "3  <s> x=2",
    ]
    assert {"nodes in use", "price of the nodes per hour"} <= set(words)
    assert not {"factor of the load that it bears", "running tasks that move"} & set(words)  # all have the same
    assert words.count("1") == 1  # that plan has no price
    assert words.count("2, 3") == 2  # in one place
    assert "<s> x=0; 2, 40.0% between nodes" in words
    assert trade_offs_svg(Comparison(request="", plans=rows[3:])) == ""

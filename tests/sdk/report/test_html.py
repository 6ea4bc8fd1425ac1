from __future__ import annotations

from html.parser import HTMLParser

import pytest

from headworks.api import compare
from headworks.plugins.host import PluginHost
from headworks.report.html import Panel, Table, comparison_page, page
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
    kept = [each for each in text if not each.startswith("\n:root")]
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
    assert text.count("<svg") == 2

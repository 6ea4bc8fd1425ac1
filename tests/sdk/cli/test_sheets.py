"""Tables of a terminal: names as they are, numbers whole, and columns that do not fit named."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from headworks.cli.output import state, table
from headworks.cli.rounds import RoundTexts
from headworks.control.journal import Round
from headworks.documents import dumps
from headworks.model import Move, MoveKind, Plan, Slot
from shell import called
from small_requests import component, node, request, topology

WIDTHS = (60, 80, 120)
PRINTABLE = st.text(st.characters(codec="utf-8").filter(lambda each: each.isprintable() and each != " "), min_size=1)
NUMBERS = st.integers(0, 10**9).map("{:,}".format)


def drawn(sheet, width):
    screen = Console(width=width, markup=False, emoji=False, legacy_windows=False)
    with screen.capture() as captured:
        screen.print(sheet)
    return captured.get()


@given(PRINTABLE)
def test_any_printable_id_survives_a_table(name):
    assert drawn(table(name, ("node", "tasks"), [(name, 1)], ("tasks",)), 1000).count(name) >= 2


@pytest.mark.parametrize("name", ["dstorm:star:", "t:on:", "rack:fire:1", "[red]a[/]", "fd00:a:100::1"])
def test_a_name_that_looks_like_an_emoji_or_markup_is_printed_as_it_is(name):
    asked = request([node(name)], [topology("t", component("c"))])
    done = called("plan", "-", "-s", "even", stdin=dumps(asked))
    assert f" {name} " in done.stdout


@given(
    st.lists(st.tuples(st.sampled_from(["number", "text"]), st.text("abc ", max_size=30)), max_size=14),
    st.lists(st.text("xyz-", min_size=1, max_size=90), min_size=1, max_size=3),
    st.data(),
    st.sampled_from(WIDTHS),
)
def test_a_table_is_within_its_width_and_its_numbers_are_whole(kinds, ids, data, width):
    headings = ("id", *(f"{name} {at}" for at, (_, name) in enumerate(kinds)))
    numbers = [heading for heading, (kind, _) in zip(headings[1:], kinds, strict=True) if kind == "number"]
    rows = [
        (name, *(data.draw(NUMBERS if each in numbers else st.text("ab ", max_size=50)) for each in headings[1:]))
        for name in ids
    ]
    sheet = table("", headings, rows, numbers)
    kept, widths, _ = sheet.fitted(width)
    assert all(cell_len(line) <= width for line in drawn(sheet, width).splitlines())
    for column, own in zip(kept, widths, strict=True):
        assert not column.number or all(cell.cell_len <= own for cell in column.cells)
    text = drawn(sheet, width)
    missing = [each.heading for each in sheet.columns if each not in kept]
    assert ("left out for want of width" in text) == bool(missing)
    assert sheet.columns[0] in kept


def test_the_least_important_columns_go_first_and_wide_shows_all():
    heads = ("id", *(f"figure-{number:02}" for number in range(12)))
    sheet = table("", heads, [("a", *range(12))], heads[1:], spare=("figure-03", "figure-00"))
    assert "left out for want of width: figure-03" in " ".join(drawn(sheet, 135).split())
    assert "left out for want of width: figure-00, figure-03" in " ".join(drawn(sheet, 124).split())
    assert "left out" not in drawn(sheet, 1000)


def tokens(text):
    """Numbers of a text, each as often as it stands there."""
    return Counter(re.findall(r"(?<!\S)\d[\d,.]*[%x]?(?!\S)", text))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(
    "words",
    [
        "simulate dstorm:linear -s even -s dstorm --duration 30",
        "plan dstorm:linear -s dstorm",
        "why dstorm:linear linear/op1/3 -s dstorm",
        "plugins",
        "workloads",
    ],
)
def test_the_tables_of_a_command_fit_and_fold_no_number(words, width, monkeypatch):
    whole = called(*words.split(), "-o", "wide").stdout if words != "workloads" else called(words).stdout
    monkeypatch.setattr("headworks.cli.output.WIDTH", width)
    shown = called(*words.split()).stdout
    assert max(map(cell_len, shown.splitlines())) <= width
    assert tokens(shown) <= tokens(whole)
    assert "left out" not in whole


def test_nothing_crosses_a_network_where_nothing_runs():
    asked = request([node("a", 10.0)], [topology("t", component("c", 2))])
    done = called("plan", "-", "-s", "resource-aware", stdin=dumps(asked))
    assert re.search(r"traffic between nodes +-\n", done.stdout)
    compared = called("compare", "-", "-s", "resource-aware", stdin=dumps(asked)).stdout
    (row,) = [line.split() for line in compared.splitlines() if line.startswith(" resource-aware")]
    assert row[:5] == ["resource-aware", "infeasible", "-", "-", "0"]


@pytest.mark.parametrize(
    ("text", "style"),
    [("ok", "green"), ("ok, repaired", "green"), ("held", "yellow"), ("infeasible", "yellow"), ("failed", "red")],
)
def test_states_have_colours(text, style):
    assert (state(text), state(text).style) == (text, style)


def moved(number, *targets):
    moves = tuple(Move(kind=MoveKind.PLACE, task=f"t/c/{at}", target=Slot(each, 1)) for at, each in enumerate(targets))
    return Round(number=number, outcome="held", plan=Plan(moves=moves))


def test_moves_are_printed_again_only_where_they_differ():
    texts = RoundTexts(as_json=False)
    assert "2 moves" in texts.of(moved(1, "a", "b"))[1]
    assert texts.of(moved(2, "a", "b")) == ("round 2: held: \n  2 moves, the same as last shown\n", "")
    assert "1 moves" in texts.of(moved(3, "a"))[1]
    assert "2 moves" in texts.of(moved(4, "a", "b"))[1]
    program = RoundTexts(as_json=True)
    assert [program.of(moved(number, "a"))[1].count('"place"') for number in (1, 2)] == [1, 1]

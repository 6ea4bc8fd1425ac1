"""Constraints in tables and on pages: those that plans break, and by how many tasks."""

from __future__ import annotations

import attrs
import pytest
from click.testing import CliRunner

from headworks.api import compare
from headworks.cli.main import headworks
from headworks.documents import write
from headworks.model import Constraint, ConstraintKind, FrozenMap, Plan, Status
from headworks.plugins.host import PluginHost
from headworks.report.format import constraint_rows
from headworks.report.html import comparison_page
from small_requests import at, component, node, request, topology, word_count

APART = Constraint(kind=ConstraintKind.AT_MOST, components=("c",), limit=1)
LIKED = Constraint(
    kind=ConstraintKind.PREFER, components=("c",), labels=FrozenMap({"node": ("b",)}), hard=False, weight=2.0
)


def asked():
    parts = topology("t", component("c", tasks=3), constraints=(APART, LIKED))
    return request([node("a", 200.0), node("b", 200.0)], [parts])


def plan(*slots):
    placed = {f"t/c/{number}": at(slot) for number, slot in enumerate(slots)}
    return Plan(status=Status.OK, assignment=FrozenMap(placed))


def test_a_request_without_constraints_has_no_rows():
    assert constraint_rows(word_count(), {"": plan()}) == ()


@pytest.mark.parametrize(
    ("slots", "hard", "soft"),
    [
        (("a:1", "b:1"), "0", "1"),
        (("b:1", "b:1"), "1, as before", "0"),
        (("a:1", "a:1", "a:2"), "2, as before", "3"),
    ],
)
def test_each_constraint_has_the_tasks_that_would_have_to_be_elsewhere(slots, hard, soft):
    assert constraint_rows(asked(), {"": plan(*slots)}) == (
        ("t", "at most 1 of c a node", "hard", hard),
        ("t", "c preferably on node=b", "soft, weight 2", soft),
    )


def test_plans_are_named_where_they_differ_and_counted_once_where_they_do_not():
    rows = constraint_rows(asked(), {"one": plan("a:1", "b:1"), "two": plan("a:1"), "three": plan("b:1")})
    assert [row[3] for row in rows] == ["0", "one 1, two 1"]
    rows = constraint_rows(asked(), {"one": plan("a:1", "b:1"), "two": plan("a:1")})
    assert rows[1][3] == "1 in every plan"


def test_pages_and_terminals_show_constraints_and_the_penalty(tmp_path):
    held = attrs.evolve(asked(), topologies=(topology("t", component("c", tasks=2), constraints=(APART, LIKED)),))
    page = comparison_page(compare(held, ["even"], host=PluginHost.load()), held)
    assert "<h2>Constraints</h2>" in page
    assert "<td>t</td>" in page.replace(' class="text"', "")
    write(tmp_path / "request.json", held)
    for words in (["plan", "-s", "even"], ["compare", "-s", "even"]):
        done = CliRunner().invoke(headworks, [words[0], str(tmp_path / "request.json"), *words[1:]])
        assert "2 constraints" in done.stdout
        assert "at most 1 of c a node" in done.stdout
        assert "penalty" in done.stdout

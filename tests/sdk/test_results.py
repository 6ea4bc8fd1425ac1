"""Results are data: flat rows of the same columns, frames, short lines in a prompt, pages with pictures."""

from __future__ import annotations

import json
import sys
from importlib.metadata import version

import pytest

import headworks
from headworks.errors import DocumentError, OptionError, PluginError
from headworks.model import FrozenMap, Slot
from headworks.model.sketch import NODES, TASKS, sketch
from headworks.model.tabular import Tabular
from headworks.testing.conform import Conformance, Outcome, RuleResult, conform
from headworks.testing.reference import FirstFit
from small_requests import word_count

MAKE = {
    "plan": lambda: headworks.plan("dstorm:linear", "dstorm"),
    "compare": lambda: headworks.compare("dstorm:linear", ["even", "dstorm"]),
    "why": lambda: headworks.why("dstorm:linear", "linear/op1/3", "dstorm"),
    "simulate": lambda: headworks.simulate("dstorm:linear", ["even", "dstorm"], duration=20.0),
    "conform": lambda: Conformance(
        scheduler="mine",
        seed=0,
        rules=(
            RuleResult(rule="total", statement="All.", status=Outcome.OK, requests=40),
            RuleResult(rule="capacity", statement="None.", status=Outcome.FAILED, detail="a is too full"),
        ),
    ),
}
MOST = 200
"""Characters of a line in a prompt, at most."""


@pytest.fixture(scope="module", params=MAKE)
def result(request):
    return MAKE[request.param]()


def test_rows_are_flat_and_have_the_same_columns(result):
    assert isinstance(result, Tabular)
    assert len({tuple(row) for row in result.rows}) == 1
    assert all(isinstance(value, str | int | float | None) for row in result.rows for value in row.values())
    assert json.loads(json.dumps(result.rows)) == result.rows


def test_a_frame_has_the_rows(result):
    pytest.importorskip("pandas")
    frame = result.to_frame()
    assert (len(frame), list(frame.columns)) == (len(result.rows), list(result.rows[0]))


def test_a_prompt_shows_a_line_and_a_notebook_a_table(result):
    assert "\n" not in repr(result)
    assert len(repr(result)) < MOST or "Why" in repr(result)
    assert "<table>" in result._repr_html_()


def test_without_pandas_the_rows_are_named(result, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pip install pandas.*\.rows has the same"):
        result.to_frame()


def test_plans_have_the_picture_of_their_placement():
    made = headworks.plan("dstorm:linear", "dstorm")
    assert made._repr_html_().count("<svg") == 1
    assert headworks.compare("dstorm:linear", ["even", "dstorm"])._repr_html_().count("<svg") == 2
    picture = sketch(made.assignment)
    assert all(f"<title>{task}</title>" in picture for task in made.assignment)
    assert all(f"<title>{slot.node}</title>" in picture for slot in made.assignment.values())


def test_a_picture_has_names_as_they_are_and_no_more_than_one_can_see():
    assert "<title>&lt;b&gt;</title>" in sketch({"t/c/0": Slot("<b>", 1)})
    assert sketch({}) == ""
    assert sketch({f"t/c/{at}": Slot(f"n{at}", 1) for at in range(NODES + 1)}) == ""
    assert sketch({f"t/c/{at}": Slot("n", 1) for at in range(TASKS + 1)}) == ""


def test_nothing_crosses_nodes_in_a_page_of_a_plan_that_places_nothing():
    held = headworks.plan(word_count(), "first-fit", host=headworks.PluginHost().with_plugin("first-fit", FirstFit()))
    page = type(held)(reasons=held.reasons, assignment=FrozenMap())._repr_html_()
    assert "<td>traffic between nodes</td><td>-</td>" in page


def test_a_report_of_a_scheduler_counts_its_rules_and_shows_the_broken_ones_first():
    found = MAKE["conform"]()
    assert repr(found) == "<Conformance of mine: 1 ok, 1 failed>"
    page = found._repr_html_()
    assert page.index("capacity") < page.index("total")
    assert headworks.conform is conform


def test_the_version_is_that_of_the_distribution():
    assert headworks.__version__ == version("headworks")


def first_fit(request):
    return FirstFit().headworks_schedule(headworks.Problem.of(request))


def test_functions_are_simulated_beside_schedulers_by_their_names():
    found = headworks.simulate(word_count(), ["even", first_fit], duration=20.0, seed=3)
    assert [(row["scheduler"], row["seed"], row["engine"]) for row in found.rows] == [
        ("even", 3, "sim"),
        ("first_fit", 3, "sim"),
    ]
    (alone,) = headworks.simulate(word_count(), first_fit, duration=20.0).rows
    assert alone["scheduler"] == "first_fit"


def test_a_simulation_meets_the_events_of_a_file_and_has_the_options_of_its_schedulers(tmp_path):
    trace = tmp_path / "trace.json"
    trace.write_text('{"events": [{"time": 5, "kind": "load", "subject": "wordcount", "value": 0.5}]}')
    with pytest.raises(DocumentError, match="wordcount"):
        headworks.simulate(word_count(), "even", duration=20.0, trace=trace)
    with pytest.raises(OptionError, match="options are given for otd, simulated are even"):
        headworks.simulate(word_count(), "even", duration=20.0, options={"otd": {}})
    with pytest.raises(OptionError, match="no option 'colour'"):
        headworks.simulate(word_count(), "even", duration=20.0, options={"even": {"colour": 1}})


def test_without_a_simulator_it_says_what_is_missing(monkeypatch):
    monkeypatch.setattr("headworks.api.found", lambda group: {})
    with pytest.raises(PluginError, match=r"no plugin simulates: .* headworks\.functions"):
        headworks.simulate(word_count(), "even")

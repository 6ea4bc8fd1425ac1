"""Alert rules and the dashboard: they name metrics, labels and values that a loop shows, and a command prints them."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from itertools import combinations
from urllib.request import urlopen

import pytest
import yaml

from every_metric import shown
from headworks.report.metrics import FAMILIES
from shell import called

parser = pytest.importorskip("prometheus_client.parser", reason="needs prometheus-client")
RULES = yaml.safe_load(called("metrics", "alerts").stdout)["groups"][0]["rules"]
PANELS = json.loads(called("metrics", "dashboard").stdout)["panels"]
QUERIES = [each["expr"] for each in RULES] + [target["expr"] for panel in PANELS for target in panel["targets"]]
SELECTOR = re.compile(r"\b(headworks_\w+)(?:\{([^}]*)\})?")
MATCHER = re.compile(r'(\w+)(?:=~|!~|!=|=)"([^"]*)"')
GROUPING = re.compile(r"\b(?:by|without|ignoring|on) \(([^)]*)\)")
OF_PROMETHEUS = {"instance", "job"}
FATES = "fate"
"""A label whose values depend on the adapter."""


@pytest.fixture(scope="module")
def series():
    """Values of each label of each series that a loop shows."""
    found = defaultdict(lambda: defaultdict(set))
    with shown() as (url, _), urlopen(url) as page:
        for family in parser.text_string_to_metric_families(page.read().decode()):
            for each in family.samples:
                found[each.name].update(
                    {label: {*found[each.name][label], text} for label, text in each.labels.items()}
                )
    return found


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_names_what_is_shown(series, query):
    named = SELECTOR.findall(query)
    assert named or "up{" in query
    for name, matchers in named:
        labels = series.get(name)
        assert labels is not None, name
        for label, values in MATCHER.findall(matchers):
            assert label in labels.keys() | OF_PROMETHEUS
            if label not in OF_PROMETHEUS | {FATES}:
                assert {*values.split("|")} <= labels[label]
    known = {label for name, _ in named for label in series[name]} | OF_PROMETHEUS
    assert {label.strip() for group in GROUPING.findall(query) for label in group.split(",")} <= known


def test_the_dashboard_has_every_metric():
    text = json.dumps(PANELS)
    assert [each.name for each in FAMILIES if each.name not in text] == []


def test_no_panel_covers_another():
    def columns_and_rows(panel):
        place = panel["gridPos"]
        return {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}

    assert len({each["id"] for each in PANELS}) == len(PANELS)
    assert all(columns_and_rows(a).isdisjoint(columns_and_rows(b)) for a, b in combinations(PANELS, 2))
    assert all(x < 24 for each in PANELS for x, _ in columns_and_rows(each))


def test_an_alert_says_how_bad_it_is_and_what_to_do():
    for each in RULES:
        assert each["labels"]["severity"] in ("warning", "critical")
        assert each["annotations"].keys() == {"summary", "description"}
    assert len({each["alert"] for each in RULES}) == len(RULES)


def test_the_rules_are_printed_as_json_too():
    assert json.loads(called("metrics", "alerts", "--json").stdout)["groups"][0]["rules"] == RULES
    assert called("metrics", "dashboard", "--json").stdout == called("metrics", "dashboard").stdout
    assert called("metrics", "logs").returncode == 2

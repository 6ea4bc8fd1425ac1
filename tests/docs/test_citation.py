"""The file by which others cite Headworks says what the package says of itself."""

from __future__ import annotations

import tomllib
from pathlib import Path

import yaml

from headworks import PluginHost

ROOT = Path(__file__).parents[2]


def test_the_citation_is_that_of_the_package():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    package = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {"cff-version", "message", "title", "authors"} <= cited.keys()
    assert cited["license"] == package["license"]
    assert cited["authors"] == package["authors"]
    assert set(cited["keywords"]) <= set(package["keywords"])
    assert cited["title"].lower().startswith(f"{package['name']}: a pluggable scheduling sdk")


def test_each_scheduler_of_a_publication_has_its_reference():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())["references"]
    scopes = {name for each in cited for name in each["scope"].split(", ")}
    assert scopes == {"dstorm", "otd", "hetero", "sps", "dps"} <= {*PluginHost.load().schedulers}
    assert all(each["title"] and each["authors"] for each in cited)

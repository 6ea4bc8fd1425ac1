"""A release is one version: in `pyproject.toml`, in its tag and in the changelog."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from headworks import PluginHost

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
VERSION = PROJECT["version"]
CHANGES = (ROOT / "CHANGELOG.md").read_text()
OTHERS = ("*.toml", "*.cff", "*.yml", "*.ini", "lab/pyproject.toml", "adapters/headworks_storm/java/pom.xml")
"""Where a version of our own could stand a second time."""


def misnamed(tags, version):
    """Tags of releases that are not that of the version."""
    return [tag for tag in tags if re.match(r"v\d", tag) and tag != f"v{version}"]


def tags():
    """The tags of the commit that is checked out; an unpacked sdist has none."""
    if not (ROOT / ".git").exists():
        return []
    command = ("git", "tag", "--points-at", "HEAD")
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.parametrize("tag", ["v0.1", "v0.1.1", "v0.1.0rc1", "v1.0.0"])
def test_a_tag_of_another_version_is_seen(tag):
    assert misnamed(["nightly", "v0.1.0", tag], "0.1.0") == [tag]


def test_the_tag_of_this_commit_is_its_version():
    assert misnamed(tags(), VERSION) == []


def test_the_version_stands_once():
    files = {each for pattern in OTHERS for each in ROOT.glob(pattern)} - {ROOT / "pyproject.toml"}
    assert {each.name for each in files} >= {"CITATION.cff", "pom.xml", "pyproject.toml"}
    again = re.compile(rf"version\W{{1,4}}{re.escape(VERSION)}(?![\w.])", re.IGNORECASE)
    assert [each for each in files if again.search(each.read_text())] == []


def test_the_changelog_begins_with_the_version_and_a_release_has_a_date():
    first = re.search(r"^## (\S+) \((.*)\)$", CHANGES, re.MULTILINE)
    assert first[1] == VERSION
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", first[2]) or (first[2] == "unreleased" and f"v{VERSION}" not in tags())


def test_the_changelog_is_short_and_honest():
    assert len(CHANGES.splitlines()) <= 60
    (status,) = (each for each in PROJECT["classifiers"] if each.startswith("Development Status"))
    assert status.endswith("Alpha")
    assert "is an alpha" in CHANGES.partition("\n## ")[0]


def test_the_built_in_schedulers_are_in_the_changelog():
    line = re.search(r"^- Built in: (.*)$", CHANGES, re.MULTILINE)[1]
    assert sorted(re.findall(r"`([\w-]+)`", line)) == [*PluginHost.load().schedulers]

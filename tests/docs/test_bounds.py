"""The bounds of what Headworks depends on: one rule for all, which `pyproject.toml` states."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

CARD = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
REQUIREMENT = re.compile(r"([\w.-]+)(?:\[[\w,]+\])?>=(\d+(?:\.\d+)*),<(\d+(?:\.\d+)*)(?:; .*)?")
"""Name, the oldest version, and the first one that is too new."""


def requirements():
    project = CARD["project"]
    found = [*project["dependencies"], *CARD["build-system"]["requires"]]
    found += (each for extra in project["optional-dependencies"].values() for each in extra)
    return sorted({each for each in found if not each.startswith("headworks[")})


def numbers(text):
    return tuple(int(re.match(r"\d*", part)[0] or 0) for part in text.split("."))


def fault(requirement):
    """The part of the rule that a requirement breaks, "" if none."""
    match = REQUIREMENT.fullmatch(requirement)
    if match is None:
        return "is not NAME>=OLDEST,<NEXT"
    oldest, bound = numbers(match[2]), numbers(match[3])
    if len(bound) != (2 if bound[0] == 0 else 1):
        return "ends at no major version, or minor one before 1.0"
    if bound <= oldest:
        return "allows nothing"
    return ""


@pytest.mark.parametrize(
    "wrong", ["a", "a>=1", "a<2", "a==1.0", "a>=1.2,<1.9", "a>=0.3,<0.4.1", "a>=2,<2", "a>=0.9,<0.9", "a>=1,<0.3"]
)
def test_a_bound_that_breaks_the_rule_is_seen(wrong):
    assert fault(wrong)


@pytest.mark.parametrize("requirement", requirements())
def test_every_bound_follows_the_rule(requirement):
    assert fault(requirement) == ""


@pytest.mark.parametrize("requirement", requirements())
def test_what_is_installed_is_within_its_bounds(requirement):
    name, oldest, bound = REQUIREMENT.fullmatch(requirement).groups()
    try:
        installed = numbers(version(name))
    except PackageNotFoundError:
        return
    assert "python_version" in requirement or numbers(oldest) <= installed < numbers(bound)
    assert installed[0] > 0 or numbers(bound)[0] == 0


def test_a_package_has_the_same_bounds_wherever_it_is_named():
    bounds = {}
    for each in requirements():
        name, oldest, bound = REQUIREMENT.fullmatch(each).groups()
        bounds.setdefault(name, set()).add((oldest, bound))
    several = {name for name, found in bounds.items() if len(found) > 1}
    assert several <= {"pytest"}  # our own tests need an older one than a plugin's

"""Options, modules and files that the documents name are there."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import click
import pytest

from doc_reference import commands
from headworks.cli.main import headworks

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
OTHERS = {"--parallel-live", "--jars", "--deploy-mode"}
"""Options of tox and of spark-submit."""
OPTIONS = OTHERS | {
    name
    for command in (headworks, *(each for _, each in commands(headworks, "headworks")))
    for option in command.get_params(click.Context(command))
    for name in (*option.opts, *option.secondary_opts)
}
NOT_PYTHON = re.compile(
    r"headworks\.(storm|own|toml|shadow|endpoint|timeout|collector|seats|racks|monitor|machine|bandwidth|spark|scope"
    r"|rounds|commands|functions|example|placed|left)"
)
"""Classes of Java, settings and metrics of engines, groups of entry points, a host, and the file of options."""
ELSEWHERE = {"headworks/seats/TOPOLOGY-ID"}
"""A path in ZooKeeper."""


def python_names(text):
    """Dotted names of ours in code, without settings of engines."""
    named = re.findall(r"(?<![\w./-])headworks(?:_\w+)?(?:\.\w+)+", text)
    return sorted({each for each in named if not NOT_PYTHON.match(each)})


def found(name):
    """Whether a dotted name is that of a module, or of something in one."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:cut]))
        except ImportError:
            continue
        for part in parts[cut:]:
            if not hasattr(value, part):
                return False
            value = getattr(value, part)
        return True
    return False


@pytest.mark.parametrize("page", [page for page in PAGES if "results" not in page.name], ids=lambda page: page.name)
def test_options_are_those_of_a_command(page):
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", page.read_text())) <= OPTIONS


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_modules_and_what_is_in_them_are_there(page):
    assert [name for name in python_names(page.read_text()) if not found(name)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_of_the_repository_are_there(page):
    parts = "sdk|adapters|plugins|schemas|lab|tests|examples|headworks|headworks_\\w+"
    named = set(re.findall(rf"`((?:{parts})/[\w./-]+)`", page.read_text())) - ELSEWHERE
    roots = [ROOT, *(ROOT / each for each in ("sdk", "adapters", "plugins", "schemas", "lab"))]
    assert [each for each in named if not any((root / each).exists() for root in roots)] == []

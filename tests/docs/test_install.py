"""How pages and messages say that Headworks is installed: from a path, for it is on no index."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from headworks.errors import how_to_install

ROOT = Path(__file__).parents[2]
TEXTS = {".md", ".py", ".toml", ".ini", ".txt", ".java", ".yaml", ".yml"}
COMMAND = re.compile(r"pip3? install\b([^`\n]*)")
OWN = re.compile(r"headworks(-lab)?(\[[\w,-]*\])?([=<>~!].*)?")
"""Our own name as pip would look it up on an index; `headworks-0.1.0-py3-none-any.whl` is a path."""


def from_an_index(text):
    words = (word.strip("'\"().,;:") for found in COMMAND.findall(text) for word in found.split())
    return [word for word in words if OWN.fullmatch(word)]


def files():
    folders = ("docs", "sdk", "adapters", "plugins", "schemas", "lab", "examples", "tests")
    found = [each for folder in folders for each in (ROOT / folder).rglob("*") if each.suffix in TEXTS]
    return [each for each in [*found, *ROOT.glob("*.*")] if each.is_file() and each.suffix in TEXTS]


@pytest.mark.parametrize("words", ["'headworks[storm]'", "-U headworks", "headworks[a,b]==0.1.0", "-q headworks-lab"])
def test_a_name_without_a_path_is_seen(words):
    assert from_an_index(f"`pip install {words}`")


@pytest.mark.parametrize("words", ["'.[storm]'", "./lab", "headworks-0.1.0.whl", "'dist/headworks.whl[a]'"])
def test_a_path_is_none(words):
    assert from_an_index(f"`pip install {words}`") == []


def test_nobody_is_told_to_install_from_an_index():
    wrong = {str(each.relative_to(ROOT)): from_an_index(each.read_text(encoding="utf-8")) for each in files()}
    assert "README.md" in wrong
    assert {name: words for name, words in wrong.items() if words} == {}


def test_a_message_names_the_extra():
    assert how_to_install("storm", "kafka") == (
        "`pip install '.[storm,kafka]'` in the clone, or the wheel with [storm,kafka]"
    )

"""The page of hooks says what the specification says, word for word."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from headworks import hooks

PAGE = (Path(__file__).parents[2] / "docs" / "hooks.md").read_text()
HOOKS = [
    (name, function) for spec in hooks.SPECS for name, function in vars(spec).items() if name.startswith("headworks_")
]


@pytest.mark.parametrize(("name", "function"), HOOKS, ids=[name for name, _ in HOOKS])
def test_hook_has_a_heading_and_its_contract(name, function):
    arguments = ", ".join(each for each in inspect.signature(function).parameters if each != "self")
    assert f"### {name}({arguments})\n\n{inspect.cleandoc(function.__doc__)}\n" in PAGE


def test_page_names_no_hook_that_is_gone():
    headings = {line.split("(")[0].removeprefix("### ") for line in PAGE.splitlines() if line.startswith("### ")}
    assert headings == {name for name, _ in HOOKS}

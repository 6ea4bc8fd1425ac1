"""The page for authors of engines has the rules of the contract, word for word, and its hooks are there."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from headworks import hooks
from headworks.testing import ENGINE_RULES

PAGE = (Path(__file__).parents[2] / "docs" / "writing-an-engine.md").read_text()


def test_the_table_of_rules_is_that_of_the_contract():
    rows = re.findall(r"^\| `([\w-]+)` \| (.*) \|$", PAGE, re.MULTILINE)
    assert rows == [(rule.id, rule.statement) for rule in ENGINE_RULES]


def test_its_hooks_have_the_arguments_of_the_specification():
    known = {
        f"{name}({', '.join(each for each in inspect.signature(function).parameters if each != 'self')})"
        for spec in hooks.SPECS
        for name, function in vars(spec).items()
        if name.startswith("headworks_")
    }
    named = re.findall(r"^\| `(headworks_\w+\([^)]*\))`", PAGE, re.MULTILINE)
    assert len(named) == 9
    assert set(named) <= known

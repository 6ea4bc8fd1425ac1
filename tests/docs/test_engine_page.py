"""The hooks that the page for authors of engines names are there, with their arguments."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from headworks import hooks

PAGE = (Path(__file__).parents[2] / "docs" / "writing-an-engine.md").read_text()


def test_its_hooks_have_the_arguments_of_the_specification():
    known = {
        f"{name}({', '.join(each for each in inspect.signature(function).parameters if each != 'self')})"
        for spec in hooks.SPECS
        for name, function in vars(spec).items()
        if name.startswith("headworks_")
    }
    named = re.findall(r"^\| `(headworks_\w+\([^)]*\))`", PAGE, re.MULTILINE)
    assert len(named) == 10
    assert set(named) <= known

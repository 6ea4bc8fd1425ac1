"""The page of rules has every rule, word for word."""

from __future__ import annotations

import re
from pathlib import Path

from headworks.testing import RULES

PAGE = (Path(__file__).parents[2] / "docs" / "rules.md").read_text()


def test_its_tables_are_the_rules():
    pairs = re.findall(r"^\| `([\w-]+)` \| ([^|`]*) \|$", PAGE, re.MULTILINE)
    assert pairs == [(rule.id, rule.statement) for rule in RULES if not rule.needs]
    triples = re.findall(r"^\| `([\w-]+)` \| `([\w-]+)` \| (.*) \|$", PAGE, re.MULTILINE)
    assert triples == [(rule.id, rule.needs, rule.statement) for rule in RULES if rule.needs]

"""The operator's page lists what is refused with the sentences that are really said."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
ADAPTER = ROOT / "adapters" / "headworks_storm"
PLACEHOLDER = re.compile(r"\b[A-Z][A-Z:]*\b(?![a-z'])|\(CLASS\)|\.\.\.|\d+|[`(]|[)]|: ")
"""What stands for something else in a sentence of the page, or ends a part of it in the source."""
LEAST = 7
"""Letters of a part that is looked for: shorter ones are anywhere."""
CONSTANTS = {
    '" + Requested.MOST + "': "headworks.seats.max",
    '"\n                + MOST, null': "headworks.seats.state.mb",
}
"""Names of settings, as sentences in the source have them."""


def sentences() -> list[str]:
    """The first cell of each row of the tables."""
    text = (ROOT / "docs" / "storm.md").read_text()
    part = text[text.index("### What is refused") :]
    rows = part[: part.index("\n## ")].splitlines()
    return [row.split("`")[1] for row in rows if row.startswith("| `")]


def said() -> str:
    """All sources of the adapter, with texts that go on over several lines joined."""
    files = [*ADAPTER.joinpath("java/src/main").rglob("seats/*.java"), *ADAPTER.joinpath("client").glob("*.py")]
    text = "\n".join(file.read_text() for file in sorted(files))
    text = re.sub(r'"\s*\+?\s*f?"', "", text).replace("`", "")
    for constant, value in CONSTANTS.items():
        text = text.replace(constant, value)
    return text


def test_each_sentence_of_the_page_is_said_by_the_product():
    source, found = said(), sentences()
    assert len(found) > 15
    for sentence in found:
        parts = [each.strip() for each in PLACEHOLDER.split(sentence)]
        long = [each for each in parts if len(each) >= LEAST]
        assert long, sentence
        for part in long:
            assert part in source, (part, sentence)

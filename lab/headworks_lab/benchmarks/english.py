"""How plain the English of the pages is: words, "you", clauses in place of nouns, long sentences.

`python -m headworks_lab.benchmarks.english` prints a row for each page of the clone that it is run from. A word is text
between blanks with a letter or a digit in it. Code, tables and headings are words of a page, but no sentences. What a
generator writes into a page is counted apart.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import attrs

from headworks.cli.output import console, table

COLUMNS = ("page", "words", "generated", "you", "relatives", "short", "inverted")
LIMIT = 25
"""Words of a sentence that is not long."""
RESULTS = "results"
"""How the names of pages of measurements begin."""

_YOU = re.compile(r"\b(?:you|your|yours|yourself)\b", re.IGNORECASE)
_RELATIVE = re.compile(r"\b(?:[Ww]hat|[Ww]hatever|[Ww]hoever|[Ww]hichever)\b|(?<=[.:] )Who\b|^Who\b", re.MULTILINE)
"""Words that begin a clause which stands where a noun belongs."""
_INVERTED = re.compile(r"(?:What|Whoever|Whatever|Whichever|Who|Such)\b")
"""Words with which no sentence begins, unless it asks."""
_GENERATED = re.compile(r"<!-- generated: .*?<!-- end -->", re.DOTALL)
_QUESTION = re.compile(r"[^.!?|\n]*\?")
_FENCE = re.compile(r"^( *)```.*?^\1```$|<!--.*?-->", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`]+`")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_NO_SENTENCE = re.compile(r"^ *(?:#|\||!\[).*$", re.MULTILINE)
_PARAGRAPH = re.compile(r"\n\s*\n|^ *(?:[-*]|\d+\.) ", re.MULTILINE)
_END = re.compile(r"(?<=[.!?])[*)\"]*\s+(?=[*(\"]*[A-Z])")


@attrs.frozen
class English:
    """Counts of a text; those of several texts add up."""

    words: int = 0
    generated: int = 0
    you: int = 0
    relatives: int = 0
    sentences: int = 0
    short: int = 0
    inverted: int = 0

    @classmethod
    def of(cls, text: str) -> English:
        """Count a page in Markdown."""
        made = sum(count(each) for each in _GENERATED.findall(text))
        text = _GENERATED.sub("", text)
        found = sentences(text)
        stated = _QUESTION.sub("", _prose(text))
        return cls(
            words=count(text),
            generated=made,
            you=len(_YOU.findall(stated)),
            relatives=len(_RELATIVE.findall(stated)),
            sentences=len(found),
            short=sum(count(each) <= LIMIT for each in found),
            inverted=sum(bool(_INVERTED.match(each)) and not each.endswith("?") for each in found),
        )

    def __add__(self, other: English) -> English:
        """The counts of both texts."""
        return English(*(one + two for one, two in zip(attrs.astuple(self), attrs.astuple(other), strict=True)))

    def per_thousand(self, number: int) -> float:
        """A number of occurrences for 1,000 words."""
        return 1000 * number / max(self.words, 1)

    @property
    def share_short(self) -> float:
        """Share of the sentences of at most `LIMIT` words."""
        return self.short / max(self.sentences, 1)


def count(text: str) -> int:
    """Words of a text."""
    return sum(any(map(str.isalnum, each)) for each in text.split())


def sentences(text: str) -> list[str]:
    """Sentences of a page in Markdown; code within one is one word."""
    paragraphs = _PARAGRAPH.split(_NO_SENTENCE.sub("\n", _prose(text)))
    found = (" ".join(each.split()).strip("*") for part in paragraphs for each in _END.split(part))
    return [each for each in found if count(each)]


def _prose(text: str) -> str:
    return _CODE.sub("Code", _LINK.sub(r"\1", _FENCE.sub("\n", text)))


def pages(root: Path) -> dict[str, English]:
    """The counts of README and of each page of `docs/`, by file name."""
    files = [root / "README.md", *sorted((root / "docs").glob("*.md"))]
    return {each.name: English.of(each.read_text(encoding="utf-8")) for each in files}


def total(found: dict[str, English]) -> English:
    """The counts of all pages but those of results."""
    return sum((each for name, each in found.items() if not name.startswith(RESULTS)), English())


def row(name: str, each: English) -> tuple[str, ...]:
    """Cells of one page."""
    you, relatives = (f"{each.per_thousand(number):.1f}" for number in (each.you, each.relatives))
    return name, f"{each.words:,}", f"{each.generated:,}", you, relatives, f"{each.share_short:.0%}", str(each.inverted)


def main() -> None:
    """Print the table."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    found = pages(Path.cwd())
    rows = [row(name, each) for name, each in found.items()]
    title = f"you, relatives: per 1,000 words; short: sentences of at most {LIMIT} words"
    last = row("all but results", total(found))
    console().print(table(title, COLUMNS, [*rows, last], numbers=COLUMNS[1:]))


if __name__ == "__main__":
    main()

"""The counts of English are those that a reader would make by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from headworks_lab.benchmarks.english import COLUMNS, English, pages, row, sentences, total

ROOT = Path(__file__).parents[2]
PAGE = """# What a heading says

You plan with `headworks plan REQUEST -s even`. Whoever reads this
[knows what a link is](page.md). What is this?

- **An item.** It has two sentences.
- Another item ends without a full stop

| a table | what a cell says |
|---|---|

```sh
what is in code is counted as words alone
```
<!-- what a comment says -->
Such a sentence is inverted.
"""


def test_sentences_are_those_of_paragraphs_and_items():
    assert sentences(PAGE) == [
        "You plan with Code.",
        "Whoever reads this knows what a link is.",
        "What is this?",
        "An item.",
        "It has two sentences.",
        "Another item ends without a full stop",
        "Such a sentence is inverted.",
    ]


def test_a_page_is_counted():
    found = English.of(PAGE)
    assert (found.you, found.inverted, found.sentences, found.short) == (1, 2, 7, 7)
    # of the heading, the sentence on links (two), and the table's cell: neither the question, nor code, nor the comment
    assert found.relatives == 4


@pytest.mark.parametrize(("words", "short"), [(25, 1), (26, 0)])
def test_a_sentence_of_more_than_25_words_is_long(words, short):
    assert English.of(f"{'Word ' * words}.").short == short


def test_a_dash_is_no_word():
    assert English.of("two - words").words == 2


def test_text_of_a_generator_is_counted_apart():
    found = English.of("You read.\n<!-- generated: a -->\nWhat you made.\n<!-- end -->\nMore.")
    assert (found.words, found.you, found.relatives, found.sentences) == (3, 1, 0, 2)
    assert found.generated >= 3


def test_pages_add_up_without_those_of_results():
    found = {"a.md": English(words=400, you=1, sentences=4, short=3), "results.md": English(words=9, you=9)}
    found["b.md"] = English(words=600, you=3, relatives=2, sentences=4, short=4)
    assert row("both", total(found)) == ("both", "1,000", "0", "4.0", "2.0", "88%", "0")


def test_every_page_of_the_documents_has_a_row():
    found = pages(ROOT)
    assert set(found) == {"README.md", *(each.name for each in (ROOT / "docs").glob("*.md"))}
    assert all(len(row(name, each)) == len(COLUMNS) and each.words for name, each in found.items())


@pytest.mark.parametrize("name", pages(ROOT))
def test_a_page_is_in_plain_english(name):
    found = pages(ROOT)[name]
    assert found.per_thousand(found.relatives) <= 3
    assert found.share_short >= 0.9
    assert not found.inverted


def test_the_pages_speak_to_their_reader():
    found = total(pages(ROOT))
    assert found.per_thousand(found.you) >= 4


def test_the_pages_stay_short():
    assert total(pages(ROOT)).words <= 18_000

"""The references of the documents are those that the code makes now."""

from __future__ import annotations

import pytest

from doc_reference import BLOCK, PAGES, REFERENCES, made


def test_each_reference_is_on_one_page():
    found = [block["name"] for page in PAGES for block in BLOCK.finditer(page.read_text())]
    assert sorted(found) == sorted(REFERENCES)


@pytest.mark.parametrize("page", [page for page in PAGES if BLOCK.search(page.read_text())], ids=lambda page: page.name)
def test_a_page_is_current(page):
    text = page.read_text()
    assert text == made(text), "run `python tests/doc_reference.py`"


def test_a_changed_reference_is_seen():
    assert "not a contract" not in made("<!-- generated: hooks -->\nnot a contract\n<!-- end -->\n")

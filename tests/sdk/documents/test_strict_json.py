"""Texts that are read, and texts that are refused before they become values."""

from __future__ import annotations

import pytest

from headworks.documents.strict_json import MOST_KEYS, parse
from headworks.errors import DocumentError


def dense(unit, count):
    """An array of as many times the same value."""
    return f"[{','.join([unit] * count)}]"


@pytest.mark.parametrize(
    ("unit", "count", "what"),
    [("0", 2_000_002, "2000001 commas"), ("{}", 520_001, "520001 objects"), ("[]", 520_001, "520002 lists")],
)
def test_a_text_of_brackets_and_commas_is_refused_before_it_is_read(unit, count, what):
    with pytest.raises(
        DocumentError, match=f"^this is not a document: {what} in [0-9]+ characters, at most [0-9]+ are"
    ):
        parse(dense(unit, count) + " and this is no JSON")


@pytest.mark.parametrize(("unit", "count"), [("6700", 2_100_000), ('{"id":"c1"}', 500_000)])
def test_the_ports_and_components_of_the_largest_request_are_not_too_many(unit, count):
    assert len(parse(dense(unit, count))) == count


def test_an_object_of_more_keys_than_there_can_be_tasks_is_refused():
    text = ",".join(f'"{key}":0' for key in range(MOST_KEYS + 1))
    with pytest.raises(DocumentError, match=f"{MOST_KEYS + 1} keys in one object"):
        parse("{" + text + "}")

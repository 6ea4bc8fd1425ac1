"""JSON text to plain data, refusing what JSON readers commonly let pass."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from headworks.errors import DocumentError, pointer

DENSEST = {
    ",": ("commas", 2_000_000, 4),
    "{": ("objects", 520_000, 18),
    "[": ("lists", 520_000, 16),
}
"""What becomes a value: what it is called, how many a text may have whatever its length, and characters to each beyond
that. The shortest component of the largest request, of which there are 500,000, has 11 characters, a port has 5."""

MOST_KEYS = 520_000
"""Keys that one object may have: an assignment has one for each of 500,000 tasks."""

_Faults = dict[int, tuple[Any, tuple[str, ...], str]]
"""Parts of the data at fault by identity: the part, the key below it, and the message. Their places are known only once
the whole text is read."""


def decoded(text: bytes) -> str:
    """UTF-8 as text, without the mark that some editors put before it.

    Raises:
        DocumentError: It is not UTF-8.
    """
    try:
        return text.decode("utf-8-sig")
    except ValueError as error:
        raise _no_json(error) from None


def _no_json(error: Exception) -> DocumentError:
    return DocumentError("", f"this is not JSON in UTF-8: {error}")


def parse(text: str | bytes) -> Any:
    """Read JSON in UTF-8.

    Raises:
        DocumentError: It is not JSON, or it holds NaN, Infinity, a key twice in one object, or half a character.
    """
    faults: _Faults = {}

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(found) > MOST_KEYS:
            raise DocumentError(
                "", f"this is not a document: {len(found)} keys in one object, at most {MOST_KEYS} are taken"
            )
        made = dict(found)
        if len(made) < len(found):
            ((key, _),) = Counter(name for name, _ in found).most_common(1)
            faults[id(made)] = made, (key,), "this key stands twice in one object"
        return made

    def constant(name: str) -> float:
        made = float(name)
        faults[id(made)] = made, (), f"{name} is not an amount; leave out an unknown one"
        return made

    plain = decoded(text) if isinstance(text, bytes) else text
    check_density(plain)
    try:
        data = json.loads(plain, object_pairs_hook=pairs, parse_constant=constant)
        if not faults and "\\u" in plain:
            refuse_halves(data)
    except DocumentError:
        raise
    except (ValueError, RecursionError) as error:
        raise _no_json(error) from None
    if faults:
        raise _first(data, faults)
    return data


def refuse_halves(data: Any) -> None:
    """Refuse half of a surrogate pair, which an escape can write and UTF-8 cannot.

    Raises:
        DocumentError: A text has one.
    """
    try:
        json.dumps(data, ensure_ascii=False).encode()
    except ValueError as error:
        raise _no_json(error) from None


def check_density(text: str) -> None:
    """Refuse a text that is nothing but brackets and commas, before it becomes values of many times its size.

    Raises:
        DocumentError: It has more of them than any document of its length.
    """
    for mark, (what, floor, length) in DENSEST.items():
        if (count := text.count(mark)) > (most := max(floor, len(text) // length)):
            said = f"{count} {what} in {len(text)} characters, at most {most} are taken"
            raise DocumentError("", f"this is not a document: {said}")


def _first(data: Any, faults: _Faults) -> DocumentError:
    """The fault that comes first; one inside a value that a repeated key hides is behind the fault of that key."""
    stack: list[tuple[tuple[str | int, ...], Any]] = [((), data)]
    while id(stack[-1][1]) not in faults:
        where, part = stack.pop()
        items = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
        stack += reversed([((*where, key), item) for key, item in items])
    where, part = stack[-1]
    _, key, message = faults[id(part)]
    return DocumentError(pointer(*where, *key), message)

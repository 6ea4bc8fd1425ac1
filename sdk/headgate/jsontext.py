"""JSON text to plain data, refusing what JSON readers commonly let pass."""

from __future__ import annotations

import json
from typing import Any

import attrs

from headgate.errors import DocumentError, pointer


@attrs.frozen
class _Fault:
    """Stands where a part of the text is at fault, until the whole is read and its place is known."""

    message: str
    key: tuple[str, ...] = ()


def parse(text: str | bytes) -> Any:
    """Read JSON in UTF-8.

    Raises:
        DocumentError: It is no JSON, or it holds NaN, Infinity, a key twice in one object, or half a character.
    """
    faults: list[_Fault] = []

    def fault(message: str, *key: str) -> _Fault:
        faults.append(_Fault(message, key))
        return faults[-1]

    def pairs(found: list[tuple[str, Any]]) -> Any:
        made = dict(found)
        return made if len(made) == len(found) else fault("this key stands twice in one object", _twice(found))

    def constant(name: str) -> _Fault:
        return fault(f"{name} is not an amount; leave out what is not known")

    try:
        plain = text.decode("utf-8-sig") if isinstance(text, bytes) else text
        data = json.loads(plain, object_pairs_hook=pairs, parse_constant=constant)
        if not faults and "\\u" in plain:
            json.dumps(data, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise DocumentError("", f"this is no JSON in UTF-8: {error}") from None
    if faults:
        raise _first(data)
    return data


def _twice(pairs: list[tuple[str, Any]]) -> str:
    seen: set[str] = set()
    return next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]


def _first(data: Any) -> DocumentError:
    stack: list[tuple[tuple[str | int, ...], Any]] = [((), data)]
    while stack:
        where, part = stack.pop()
        if isinstance(part, _Fault):
            return DocumentError(pointer(*where, *part.key), part.message)
        items = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
        stack += [((*where, key), item) for key, item in items]
    raise AssertionError("a fault is nowhere in the data")

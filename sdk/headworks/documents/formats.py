"""JSON, YAML and TOML to plain data: the latter two are for people who write by hand, and just as strict."""

from __future__ import annotations

import json
import math
import re
import tomllib
from datetime import date, time
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from headworks.documents import strict_json
from headworks.documents.strict_json import MOST_KEYS, check_density, decoded, refuse_halves
from headworks.errors import DocumentError, pointer

if TYPE_CHECKING:
    from collections.abc import Iterable

DEEPEST = 500
"""Values within each other in YAML; JSON and TOML end where Python's own recursion does."""
MOST_VALUES = 2_000_000
"""Values in YAML whatever its length, as many as JSON may have commas; beyond it one to 4 characters."""

_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_WORDS = {"": None, "~": None, "null": None, "true": True, "false": False}
_NO_AMOUNT = re.compile(r"[-+]?\.inf|\.nan", re.IGNORECASE)


def parse(text: str | bytes, name: str = "") -> Any:
    """Read plain data in UTF-8.

    Args:
        text: The text.
        name: Name of its file: with `.yaml` or `.yml` it is YAML, with `.toml` TOML, else JSON.

    Raises:
        DocumentError: It is none, or holds what JSON must not hold: NaN, a key twice, half a character.
    """
    readers = {".yaml": parse_yaml, ".yml": parse_yaml, ".toml": parse_toml}
    reader = readers.get(PurePath(name).suffix, strict_json.parse)
    return reader(decoded(text) if isinstance(text, bytes) else text)


def parse_toml(text: str) -> Any:
    """Read TOML; dates and times are refused, for no document has them.

    Raises:
        DocumentError: See `parse`.
    """
    check_density(text)
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise DocumentError("", f"this is not TOML in UTF-8: {error}") from None
    _refuse_more_than_json(data)
    return data


def _refuse_more_than_json(data: Any) -> None:
    stack: list[tuple[str, Any]] = [("", data)]
    while stack:
        where, part = stack.pop()
        if isinstance(part, date | time):
            raise DocumentError(where, f"{part} is a time; put it in quotes if it is a text")
        if isinstance(part, float) and not math.isfinite(part):
            raise DocumentError(where, f"{part} is not an amount; leave out an unknown one")
        items = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
        stack += reversed([(where + pointer(key), item) for key, item in items])


def parse_yaml(text: str) -> Any:
    """Read YAML whose scalars without quotes are those of JSON, and else texts: `on` and `1:30` are no other values.

    Aliases, tags and a second document are refused.

    Raises:
        DocumentError: See `parse`.
    """
    import yaml  # 30 ms that JSON does not need

    most = max(MOST_VALUES, len(text) // 4)
    builder = _Builder()
    try:
        for count, event in enumerate(yaml.parse(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))):
            if count > most:
                raise DocumentError("", f"this is not a document: more than {most} values in {len(text)} characters")
            builder.take(event)
    except yaml.YAMLError as error:
        raise DocumentError("", f"this is not YAML in UTF-8: {' '.join(str(error).split())[:400]}") from None
    refuse_halves(builder.made)
    return builder.made


class _Builder:
    """Makes plain data of the events of YAML's parser.

    Attributes:
        made: The data, None where nothing was read.
    """

    def __init__(self) -> None:
        self.made: Any = None
        self._documents = 0
        self._open: list[dict[str, Any] | list[Any]] = []
        self._path: list[str | int] = []
        self._key: str | None = None

    def take(self, event: Any) -> None:
        """Take the next event.

        Raises:
            DocumentError: It is of what JSON has not.
        """
        match type(event).__name__:
            case "DocumentStartEvent":
                self._documents += 1
                if self._documents > 1:
                    raise DocumentError("", "there are two documents: write each into a file of its own")
            case "AliasEvent":
                raise self._fault(f"the alias *{event.anchor} is not read: write out its value")
            case "ScalarEvent":
                self._scalar(event)
            case "MappingStartEvent":
                self._begin(event, {})
            case "SequenceStartEvent":
                self._begin(event, [])
            case "MappingEndEvent" | "SequenceEndEvent":
                self._open.pop()
                if self._path:
                    self._path.pop()

    def _scalar(self, event: Any) -> None:
        self._check_tag(event)
        inside = self._open[-1] if self._open else None
        if isinstance(inside, dict) and self._key is None:
            self._take_key(inside, event.value)
            return
        self._put(event.value if event.style else self._plain(event.value))

    def _take_key(self, inside: dict[str, Any], key: str) -> None:
        if key in inside:
            raise DocumentError(pointer(*self._path, key), "this key stands twice in one object")
        if len(inside) == MOST_KEYS:
            raise DocumentError("", f"this is not a document: more than {MOST_KEYS} keys in one object")
        self._key = key

    def _plain(self, word: str) -> Any:
        if word in _WORDS:
            return _WORDS[word]
        if _NO_AMOUNT.fullmatch(word):
            raise self._fault(f"{word} is not an amount; leave out an unknown one")
        if not _NUMBER.fullmatch(word):
            return word
        try:
            return json.loads(word)
        except ValueError as error:
            raise self._fault(str(error)) from None

    def _begin(self, event: Any, made: dict[str, Any] | list[Any]) -> None:
        self._check_tag(event)
        inside = self._open[-1] if self._open else None
        if isinstance(inside, dict) and self._key is None:
            raise self._fault("a key is a text, neither a list nor an object")
        if len(self._open) == DEEPEST:
            raise DocumentError("", f"this is not a document: more than {DEEPEST} values within each other")
        place = self._put(made)
        self._path += place
        self._open.append(made)

    def _put(self, value: Any) -> tuple[str | int, ...]:
        """Put a value where it belongs, and tell its place there."""
        if not self._open:
            self.made = value
            return ()
        inside = self._open[-1]
        if isinstance(inside, list):
            inside.append(value)
            return (len(inside) - 1,)
        key, self._key = self._key or "", None
        inside[key] = value
        return (key,)

    def _check_tag(self, event: Any) -> None:
        if event.tag is not None:
            raise self._fault(f"tags such as {event.tag} are not read: leave it out")

    def _fault(self, message: str) -> DocumentError:
        return DocumentError(pointer(*self._path, *self._next()), message)

    def _next(self) -> Iterable[str | int]:
        inside = self._open[-1] if self._open else None
        if isinstance(inside, list):
            return (len(inside),)
        return () if self._key is None else (self._key,)

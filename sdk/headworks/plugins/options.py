"""Options of a plugin: from text or plain values to an instance of its attrs class, by cattrs."""

from __future__ import annotations

import contextlib
import enum
import math
from functools import cache
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin

import attrs

from headworks.errors import OptionError, known_names

if TYPE_CHECKING:
    from collections.abc import Mapping

    import cattrs

WORDS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


def make_options(plugin: str, kind: type, given: Mapping[str, Any]) -> Any:
    """Build options.

    Raises:
        OptionError: A name is unknown, a value does not fit its type, or the class itself refuses it.
    """
    import cattrs  # 60 ms of imports, which a command without a scheduler does not need

    names = [field.name for field in attrs.fields(kind)]
    for name in given:
        if name not in names:
            raise OptionError(f"{plugin}: no option {name!r}{known_names(name, names)}")
    try:
        return text_converter().structure(dict(given), kind)
    except cattrs.ClassValidationError as error:
        first = error.exceptions[0]
        notes = getattr(first, "__notes__", ())  # cattrs notes the field; a rule of the class itself has none
        own = first.args[0] if first.args else first
        raise OptionError(f"{plugin}: {_fault(notes[-1], given) if notes else own}") from None


def _fault(note: cattrs.AttributeValidationNote, given: Mapping[str, Any]) -> str:
    problem = f"cannot be {given[note.name]!r}" if note.name in given else "is missing"
    return f"option {note.name} {problem}; it takes {describe(note.type)}"


@cache
def text_converter() -> cattrs.Converter:
    """The converter that takes text for any value: a number, a word to choose, true and false, none, a,b,c."""
    # cattrs costs 60 ms, which a command without documents does not need.
    import cattrs

    made = cattrs.Converter()
    for kind in (int, float, str):
        made.register_structure_hook(kind, _scalar)
    made.register_structure_hook(bool, lambda value, _: value if isinstance(value, bool) else WORDS[value.lower()])
    made.register_structure_hook(enum.StrEnum, lambda value, kind: kind(value))
    made.register_structure_hook_func(lambda kind: _is(kind, Literal), _choose)
    made.register_structure_hook_func(lambda kind: hasattr(kind, "parse"), lambda value, kind: kind.parse(value))
    made.register_structure_hook_func(
        lambda kind: _is(kind, Union, UnionType), lambda value, kind: _one_of(value, kind, made)
    )
    made.register_structure_hook_func(
        lambda kind: _is(kind, tuple),
        lambda value, kind: tuple(made.structure(each, get_args(kind)[0]) for each in _split(value)),
    )
    return made


def _is(kind: Any, *generic: Any) -> bool:
    return get_origin(kind) in generic


def _scalar(value: Any, kind: Any) -> Any:
    """An int, a float or a str; infinity, NaN and half a task are refused."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise TypeError(value)
    made = kind(value)
    if (isinstance(made, float) and not math.isfinite(made)) or (isinstance(value, float) and made != value):
        raise ValueError(value)
    return made


def _choose(value: Any, kind: Any) -> Any:
    return {str(choice): choice for choice in get_args(kind)}[str(value)]


def _one_of(value: Any, kind: Any, made: cattrs.Converter) -> Any:
    """The first type of a union that the value fits."""
    if type(None) in get_args(kind) and (value is None or str(value).lower() in ("none", "null")):
        return None
    for each in get_args(kind):
        with contextlib.suppress(Exception):
            return made.structure(value, each)
    raise ValueError(value)


def _split(value: Any) -> list[Any]:
    if isinstance(value, str):
        return [each.strip() for each in value.split(",")] if value else []
    if not isinstance(value, list | tuple):
        raise TypeError(value)
    return list(value)


NAMES = {bool: "true or false", int: "a whole number", float: "a number", str: "a text", type(None): "none"}


def describe(kind: Any) -> str:
    """The values of a type, for a message."""
    if _is(kind, Literal):
        return " | ".join(map(str, get_args(kind)))
    if _is(kind, Union, UnionType):
        return " or ".join(map(describe, get_args(kind)))
    if _is(kind, tuple):
        return f"a list, each {describe(get_args(kind)[0])}"
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return " | ".join(str(each.value) for each in kind)
    return NAMES.get(kind, getattr(kind, "__name__", str(kind)))

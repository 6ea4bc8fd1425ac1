"""Options of a plugin: from text or plain values to an instance of its attrs class."""

from __future__ import annotations

import math
import typing
from functools import cache
from types import UnionType
from typing import TYPE_CHECKING, Any

import attrs

from headgate.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Mapping

WORDS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


def make_options(plugin: str, kind: type, given: Mapping[str, Any]) -> Any:
    """Build options.

    Raises:
        OptionError: A name is unknown, a value does not fit its type, or the class itself refuses it.
    """
    fields = {field.name: field for field in attrs.fields(kind)}
    hints = _hints(kind)
    for name in given:
        if name not in fields:
            known = ", ".join(sorted(fields)) or "none"
            raise OptionError(f"{plugin}: no option {name!r}; there are: {known}")
    values = {name: _convert(plugin, name, value, hints[name]) for name, value in given.items()}
    try:
        return kind(**values)
    except (TypeError, ValueError) as error:
        raise OptionError(f"{plugin}: {error}") from None


@cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _convert(plugin: str, name: str, value: Any, hint: Any) -> Any:
    allowed = typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, UnionType) else (hint,)
    if value is None or (isinstance(value, str) and value.lower() in ("none", "null")):
        if type(None) in allowed:
            return None
        if value is None:
            raise OptionError(f"{plugin}: option {name} cannot be {value}; it takes {_names(allowed)}")
    for kind in allowed:
        try:
            return _to(kind, value)
        except (TypeError, ValueError, OverflowError):
            continue
    raise OptionError(f"{plugin}: option {name} cannot be {value!r}; it takes {_names(allowed)}")


def _to(kind: Any, value: Any) -> Any:
    if typing.get_origin(kind) is typing.Literal:
        for choice in typing.get_args(kind):
            if str(choice) == str(value):
                return choice
        raise ValueError(value)
    if kind is bool:
        return value if isinstance(value, bool) else WORDS.get(str(value).lower()) or _no(value)
    if kind in (int, float, str) and not isinstance(value, bool):
        made = kind(value)
        if (isinstance(made, float) and not math.isfinite(made)) or (isinstance(value, float) and made != value):
            raise ValueError(value)
        return made
    raise TypeError(kind)


def _no(value: Any) -> bool:
    if str(value).lower() not in WORDS:
        raise ValueError(value)
    return False


def _names(kinds: tuple[Any, ...]) -> str:
    names = [
        " | ".join(map(str, typing.get_args(kind))) if typing.get_origin(kind) is typing.Literal else kind.__name__
        for kind in kinds
    ]
    return " or ".join(names)

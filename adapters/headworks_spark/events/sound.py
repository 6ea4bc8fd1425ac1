"""The check that an event of a file is one that Spark can have written: each value of its type, and in range."""

from __future__ import annotations

import functools
import math
import re
import types
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin, get_type_hints

import attrs

from headworks_spark.events.event import JobStart

if TYPE_CHECKING:
    from collections.abc import Callable

    from headworks_spark.events.event import Event

HALF = re.compile("[\ud800-\udfff]")
"""Half of a character, which an escape in JSON can write, and UTF-8 cannot."""
MOST = 1e15
"""Largest number that is taken for one: milliseconds, bytes and rows of an application stay far below."""


def sound(event: Event | None) -> Event | None:
    """The event, if every value of it is of the type that its class says, and stages follow their parents.

    Raises:
        ValueError: It is none that Spark writes.
    """
    stages = event.stages if isinstance(event, JobStart) else ()
    if event is not None and (any(max(each.parents, default=-1) >= each.stage for each in stages) or not _fits(event)):
        raise ValueError("no event of Spark's")
    return event


def _fits(value: Any) -> bool:
    return all(check(getattr(value, name)) for name, check in _checks(type(value)))  # type: ignore[arg-type]


@functools.cache
def _checks(kind: type) -> tuple[tuple[str, Callable[[Any], bool]], ...]:
    hints = get_type_hints(kind)
    return tuple((field.name, _check(hints[field.name])) for field in attrs.fields(kind))


def _check(hint: Any) -> Callable[[Any], bool]:
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        options = [_check(each) for each in inner]
        return lambda value: any(option(value) for option in options)
    if origin is tuple:
        each = _check(inner[0])
        return lambda value: isinstance(value, tuple) and all(map(each, value))
    if attrs.has(hint):
        return lambda value: isinstance(value, hint) and _fits(value)
    return functools.partial(_is, hint)


def _is(kind: Any, value: Any) -> bool:
    if kind in (int, float):
        number = type(value) is int or (kind is float and type(value) is float and math.isfinite(value))
        return number and abs(value) < MOST
    if kind is str:
        return isinstance(value, str) and HALF.search(value) is None
    return isinstance(value, get_origin(kind) or kind)

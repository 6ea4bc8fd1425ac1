"""Mappings that cannot change, and the types of values that a program made by hand."""

from __future__ import annotations

import enum
import functools
import operator
import reprlib
import typing
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, get_args, get_origin

import attrs

from headworks.errors import DocumentError, pointer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


K = TypeVar("K")
V = TypeVar("V")


class FrozenMap(dict[K, V]):
    """A dict that refuses every change. It equals a plain dict with the same items."""

    def _refuse(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        raise TypeError(f"{type(self).__name__} cannot be changed: build a new one")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (dict(self),))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({dict.__repr__(self)})"


class Resources(FrozenMap[str, float]):
    """Named amounts that a task needs or a node has.

    `cpu` is in points (100 = one core of the reference unit, paper D-Storm, section 5.3.1), `memory` in MB;
    any further name is an amount in its own unit. A name that is absent means zero.
    """

    @property
    def cpu(self) -> float:
        """CPU in points."""
        return self.get("cpu", 0.0)

    @property
    def memory(self) -> float:
        """Memory in MB."""
        return self.get("memory", 0.0)


TAKEN: dict[type, tuple[type | tuple[type, ...], str]] = {
    float: ((float, int), "a number"),
    int: (int, "a whole number"),
    bool: (bool, "True or False"),
    str: (str, "a text"),
    tuple: (tuple, "a tuple"),
    dict: (dict, "a mapping"),
}
"""What is taken for a type, and what a person calls it; whole numbers of numpy are none: no document may hold them."""


def check_types(value: Any, kind: type) -> None:
    """Refuse a value one of whose fields, or of their fields, is of another type than its class says.

    Raises:
        DocumentError: With a pointer to the first such field.
    """
    if not _test(kind)(value):  # as fast as it can be; only what does not fit is looked at again, for the place
        what, where = next(_misfits(value, kind, ()))
        raise DocumentError(pointer(*where), what)


@functools.cache
def _test(kind: Any) -> Callable[[Any], bool]:
    """A test that a value is of a type, with all that is in it."""
    origin, inner = _parts(kind)
    taken, optional = TAKEN.get(origin, (origin, ""))[0], type(None) in inner
    below = _below(origin, inner)

    def test(value: Any) -> bool:
        if value is None:
            return optional
        known = type(value) is origin or (isinstance(value, taken) and type(value) is not bool)
        return known and (below is None or below(value))

    return test


def _below(origin: Any, inner: tuple[Any, ...]) -> Callable[[Any], bool] | None:
    """A test of what is in a value of a type; None where there is nothing in it."""
    if attrs.has(origin):
        fields = [(operator.attrgetter(name), _test(each)) for name, each in _fields(origin)]
        return lambda value: all(test(get(value)) for get, test in fields)
    if origin is tuple:
        each = _test(inner[0])
        return lambda value: all(map(each, value))
    if issubclass(origin, dict):
        keys, values = map(_test, inner[:2])
        return lambda value: all(map(keys, value)) and all(map(values, value.values()))
    return None


def _misfits(value: Any, kind: Any, where: tuple[str | int, ...]) -> Iterator[tuple[str, tuple[str | int, ...]]]:
    """Parts that do not fit, in words, and where they are, the first one first."""
    origin, inner = _parts(kind)
    if _test(kind)(value):
        return
    if not isinstance(value, TAKEN.get(origin, (origin, ""))[0]) or isinstance(value, bool):
        known = f", one of {', '.join(origin)}" if issubclass(origin, enum.Enum) else ""
        called = TAKEN.get(origin, (origin, f"a {origin.__name__}"))[1]
        yield f"{reprlib.repr(value)} is of type {type(value).__name__}, {called} is expected{known}", where
    elif attrs.has(origin):
        for name, each in _fields(origin):
            yield from _misfits(getattr(value, name), each, (*where, name))
    elif origin is tuple:
        for index, each in enumerate(value):
            yield from _misfits(each, inner[0], (*where, index))
    else:
        for key, each in value.items():
            yield from _misfits(key, inner[0], where)
            yield from _misfits(each, inner[1], (*where, str(key)))


@functools.cache
def _parts(kind: Any) -> tuple[Any, tuple[Any, ...]]:
    """A type without its arguments, and these; of an optional type the other one, and NoneType last."""
    if kind is Resources:
        return Resources, (str, float)
    origin, inner = get_origin(kind), get_args(kind)
    if type(None) in inner:
        plain, below = _parts(inner[0])
        return plain, (*below, type(None))
    plain = origin or kind
    return dict if issubclass(plain, dict) else plain, inner


@functools.cache
def _fields(kind: type) -> tuple[tuple[str, Any], ...]:
    hints = typing.get_type_hints(kind)
    return tuple((each.name, hints[each.name]) for each in attrs.fields(kind) if each.init)

"""Plain data to values of the model and back, by cattrs, as strict as the JSON Schema of the class."""

from __future__ import annotations

import enum
import re
import reprlib
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

import attrs

from headworks.documents.schema import IGNORED, LARGEST_AMOUNT, LARGEST_INTEGER, SLOT
from headworks.errors import DocumentError, known_names, pointer
from headworks.model import FrozenMap, Plan, Resources, Scores, Slot

if TYPE_CHECKING:
    from collections.abc import Callable

    import cattrs

    Hook = Callable[[Any, Any], Any]
    """Makes a value of plain data, given the data and the type. It raises a `DocumentError` at the first fault."""


SLOT_IN = re.compile(SLOT).search
"""Finds the text of a slot: there is one for each of hundreds of thousands of tasks."""


@cache
def converter() -> cattrs.Converter:
    """The converter of documents."""
    import cattrs  # 60 ms of imports, which a command without documents does not need

    made = cattrs.Converter(omit_if_default=True)
    for leaf, hook in LEAVES.items():
        made.register_structure_hook(leaf, hook)
    made.register_structure_hook_func(lambda kind: kind is object, lambda data, _: data)
    made.register_structure_hook_func(lambda kind: _is(kind, Literal), _word)
    factories: tuple[tuple[Callable[[Any], bool], Callable[[Any, cattrs.Converter], Hook]], ...] = (
        (attrs.has, _object_hook),
        (lambda kind: type(None) in get_args(kind), _optional_hook),
        (lambda kind: _is(kind, tuple), _array_hook),
        (lambda kind: _is(kind, FrozenMap) or kind is Resources, _map_hook),
    )
    for suits, factory in factories:
        made.register_structure_hook_factory(suits, lambda kind, factory=factory: factory(kind, made))
    _add_unstructure_hooks(made)
    return made


def _is(kind: Any, generic: Any) -> bool:
    return get_origin(kind) is generic


def _add_unstructure_hooks(made: cattrs.Converter) -> None:
    # cattrs costs 60 ms, which a command without documents does not need.
    from cattrs.gen import make_dict_unstructure_fn

    made.register_unstructure_hook(Slot, str)
    made.register_unstructure_hook(Resources, lambda amounts: {name: _plain(each) for name, each in amounts.items()})
    for number in (float, float | None):
        made.register_unstructure_hook(number, _plain)
    made.register_unstructure_hook_func(
        lambda kind: _is(kind, FrozenMap) or kind is FrozenMap,
        lambda data: {key: made.unstructure(item) for key, item in data.items()},
    )
    for whole in (Plan, Scores):  # readers of plans and tables want every figure, defaults included
        made.register_unstructure_hook(whole, make_dict_unstructure_fn(whole, made))


def _plain(amount: float | None) -> float | None:
    """One spelling for equal amounts, 1 and 1.0, 0.0 and -0.0."""
    return None if amount is None else amount + 0.0


def _amount(data: Any, _kind: Any) -> float:
    if not isinstance(data, float | int) or isinstance(data, bool):
        raise _is_not("a number", data)
    if not 0 <= data <= LARGEST_AMOUNT:
        raise _is_not(f"an amount: a number of 0 to {LARGEST_AMOUNT:g} is needed", data)
    return float(data)


def _integer(data: Any, _kind: Any) -> int:
    if isinstance(data, bool) or not (isinstance(data, int) or (isinstance(data, float) and data.is_integer())):
        raise _is_not("a whole number", data)
    if not -LARGEST_INTEGER - 1 <= data <= LARGEST_INTEGER:
        raise _is_not(f"a number of 64 bits, {-LARGEST_INTEGER - 1} to {LARGEST_INTEGER}", data)
    return int(data)


def _boolean(data: Any, _kind: Any) -> bool:
    if not isinstance(data, bool):
        raise _is_not("true or false", data)
    return data


def _text(data: Any, _kind: Any) -> str:
    if not isinstance(data, str):
        raise _is_not("a text", data)
    return data


def _slot(data: Any, _kind: Any) -> Slot:
    if not isinstance(data, str) or not SLOT_IN(data):
        raise _is_not("NODE:PORT", data)
    return Slot.parse(data)


def _word(data: Any, kind: Any) -> Any:
    """One of the words of an enum or a Literal."""
    words = get_args(kind) or tuple(kind)
    if not isinstance(data, str) or data not in words:
        raise _is_not(f"one of: {', '.join(words)}", data)
    return words[words.index(data)]


LEAVES: dict[type, Hook] = {
    float: _amount,
    int: _integer,
    bool: _boolean,
    str: _text,
    Slot: _slot,
    enum.StrEnum: _word,
}


def _optional_hook(kind: Any, made: cattrs.Converter) -> Hook:
    inner = get_args(kind)[0]
    hook = made.get_structure_hook(inner)
    return lambda data, _: None if data is None else hook(data, inner)


def _array_hook(kind: Any, made: cattrs.Converter) -> Hook:
    inner = get_args(kind)[0]
    hook = made.get_structure_hook(inner)

    def structure(data: Any, _: Any) -> tuple[Any, ...]:
        if not isinstance(data, list):
            raise _is_not("a list", data)
        items: list[Any] = []
        try:
            for item in data:
                items.append(hook(item, inner))  # noqa: PERF401 - its length is the index of the item at fault
        except DocumentError as error:
            raise _below(len(items), error) from None
        return tuple(items)

    return structure


def _map_hook(kind: Any, made: cattrs.Converter) -> Hook:
    make, inner = (Resources, float) if kind is Resources else (FrozenMap, get_args(kind)[1])
    hook = made.get_structure_hook(inner)

    def structure(data: Any, _: Any) -> Any:
        if not isinstance(data, dict):
            raise _is_not("an object", data)
        items, key = {}, ""
        try:
            for key, item in data.items():
                items[key] = hook(item, inner)
        except DocumentError as error:
            raise _below(key, error) from None
        return make(items)

    return structure


def _object_hook(kind: Any, made: cattrs.Converter) -> Hook:
    # cattrs costs 60 ms, which a command without documents does not need.
    from cattrs.errors import ClassValidationError
    from cattrs.gen import make_dict_structure_fn

    make = make_dict_structure_fn(kind, made, _cattrs_detailed_validation=True)
    names = frozenset(field.name for field in attrs.fields(kind) if field.init)

    def structure(data: Any, _: Any) -> Any:
        if not isinstance(data, dict):
            raise _is_not("an object", data)
        if strange := data.keys() - names:
            _refuse_unknown(strange, names)
        try:
            return make(data, kind)
        except ClassValidationError as error:
            raise _fault(error) from None

    return structure


def _refuse_unknown(strange: set[Any], names: frozenset[str]) -> None:
    """Refuse unknown keys before any other fault: one may be a missing key misspelt."""
    if unknown := [key for key in strange if not str(key).startswith(IGNORED)]:
        key = min(unknown, key=str)
        raise DocumentError(pointer(key), f"unknown key{known_names(key, names)}")


def _fault(error: cattrs.ClassValidationError) -> DocumentError:
    """The most telling of an object's faults."""
    found = {type(each): each for each in reversed(error.exceptions)}
    if missing := found.get(KeyError):
        return DocumentError("", f"the key {missing.args[0]!r} is missing")
    first = error.exceptions[0]
    fault = first if isinstance(first, DocumentError) else DocumentError("", str(first))
    notes = getattr(first, "__notes__", ())  # cattrs notes the attribute; a rule of the class itself has none
    return _below(notes[-1].name, fault) if notes else fault


def _is_not(wanted: str, data: Any) -> DocumentError:
    return DocumentError("", f"{reprlib.repr(data)} is not {wanted}")


def _below(step: str | int, error: DocumentError) -> DocumentError:
    return DocumentError(pointer(step) + error.pointer, error.message)

"""JSON Schemas (draft-07) of the model's classes: a document's schema says what its class says, never less."""

from __future__ import annotations

import enum
import re
import reprlib
import types
import typing
from typing import Any, Literal

import attrs

from headworks.errors import DocumentError
from headworks.model import FrozenMap, Resources, Slot

MAJOR = 1
"""Documents of another major version are other documents. A minor version adds optional keys."""
IGNORED = "x-"
"""A key of an object that begins so is ignored; no key of ours ever does."""

LARGEST_AMOUNT = 1e30
"""Keeps out what JSON can write and no number can hold, such as 1e400."""
LARGEST_INTEGER = 2**63 - 1
"""A larger one would not fit into the arrays that algorithms compute on."""
SLOT = "^.+:-?[0-9]{1,18}$"

AMOUNT: dict[str, Any] = {"type": "number", "minimum": 0, "maximum": LARGEST_AMOUNT}
SIMPLE: dict[Any, dict[str, Any]] = {
    float: AMOUNT,
    int: {"type": "integer", "minimum": -LARGEST_INTEGER - 1, "maximum": LARGEST_INTEGER},
    bool: {"type": "boolean"},
    str: {"type": "string"},
    object: {},
    Slot: {"type": "string", "pattern": SLOT, "description": "NODE:PORT"},
    Resources: {
        "type": "object",
        "additionalProperties": AMOUNT,
        "description": "named amounts; cpu in points, memory in MB",
    },
    type(None): {"type": "null"},
}


def schema_id(kind: type) -> str:
    """The stable `$id` of a class's schema."""
    return f"urn:headworks:schema:{kind.__name__.lower()}:{MAJOR}"


def version_pattern(kind: type) -> str:
    """The expression that `$schema` of a document matches: the `$id`, with any minor version."""
    return rf"^{schema_id(kind)}(\.[0-9]{{1,9}})?$"


def check_version(named: Any, kind: type) -> None:
    """Check the `$schema` that a document names.

    Raises:
        DocumentError: It is another document's, or of another major version.
    """
    if not isinstance(named, str) or not re.search(version_pattern(kind), named):
        said = f"{reprlib.repr(named)} is not the schema of a {kind.__name__.lower()} that this version reads"
        raise DocumentError("/$schema", f"{said}: {schema_id(kind)}")


def schema_of(kind: type) -> dict[str, Any]:
    """The schema of documents that hold a value of `kind`.

    Every attrs class that it reaches is a definition. Unknown keys are refused but for `x-` ones; every amount is 0 or
    more.
    """
    definitions: dict[str, Any] = {}
    root = _object(kind, definitions)
    root["properties"]["$schema"] = {"type": "string", "pattern": version_pattern(kind)}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": schema_id(kind),
        "title": kind.__name__,
        **root,
        "definitions": dict(sorted(definitions.items())),
    }


def _object(kind: type, definitions: dict[str, Any]) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    fields = [field for field in attrs.fields(kind) if field.init]
    return {
        "type": "object",
        "description": (kind.__doc__ or kind.__name__).partition("\n")[0],
        "properties": {field.name: _type(hints[field.name], definitions) for field in fields},
        "required": [field.name for field in fields if field.default is attrs.NOTHING],
        "patternProperties": {f"^{IGNORED}": {}},
        "additionalProperties": False,
    }


def _type(hint: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    if hint in SIMPLE:
        return dict(SIMPLE[hint])
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return _union([_type(each, definitions) for each in args])
    if origin is Literal:
        return {"enum": list(args)}
    if origin is tuple:
        return {"type": "array", "items": _type(args[0], definitions)}
    if origin is FrozenMap:
        return {"type": "object", "additionalProperties": _type(args[1], definitions)}
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return {"enum": [member.value for member in hint]}
    if attrs.has(hint):
        name = hint.__name__
        if name not in definitions:
            definitions[name] = {}
            definitions[name].update(_object(hint, definitions))
        return {"$ref": f"#/definitions/{name}"}
    raise TypeError(f"no schema for {hint!r}")


def _union(options: list[dict[str, Any]]) -> dict[str, Any]:
    """Options of plain types are one `type` list, which reads better in an error than `anyOf`."""
    if all(set(option) <= {"type", "minimum", "maximum"} for option in options):
        merged = {key: value for option in options for key, value in option.items() if key != "type"}
        return {"type": [option["type"] for option in options], **merged}
    return {"anyOf": options}

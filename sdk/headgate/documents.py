"""Values of the model as JSON documents: read, checked against their schema, written, and named by a digest."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from headgate.errors import DocumentError, pointer
from headgate.model import FrozenMap, Plan, Request, Resources, Scores, Slot

if TYPE_CHECKING:
    import cattrs
    from jsonschema import ValidationError

T = TypeVar("T")


def loads(text: str | bytes, kind: type[T]) -> T:
    """Read a document.

    Args:
        text: JSON, UTF-8.
        kind: The class to make of it: `Request`, `Plan`, `Observation` or any other class of the model.

    Raises:
        DocumentError: The text is no JSON, holds NaN or a key twice, breaks its schema, or contradicts itself.
    """
    return structure(parse(text), kind)


def read(path: str | Path, kind: type[T]) -> T:
    """Read a document from a file; see `loads`. A file that cannot be read is a `DocumentError` too."""
    try:
        text = Path(path).read_bytes()
    except OSError as error:
        raise DocumentError("", f"{path} cannot be read: {error.strerror}") from None
    return loads(text, kind)


def parse(text: str | bytes) -> Any:
    """JSON to plain data, refusing what JSON readers commonly let pass: NaN, Infinity, a key twice."""
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_constant)
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DocumentError("", f"this is no JSON: {error}") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise DocumentError(pointer(twice), f"the key {twice!r} stands twice in one object")
    return found


def _constant(name: str) -> float:
    raise DocumentError("", f"{name} is not an amount; leave out what is not known")


def structure(data: Any, kind: type[T]) -> T:
    """Plain data to a value, checked against the schema of its class and, for a request, against itself."""
    if isinstance(data, dict):
        data = {key: value for key, value in data.items() if key != "$schema"}
    validate(data, kind)
    try:
        value = _converter().structure(data, kind)
    except (ValueError, TypeError, OverflowError) as error:
        raise DocumentError("", f"this is no {kind.__name__.lower()}: {error}") from None
    if isinstance(value, Request):
        from headgate.check import check_request

        check_request(value)
    return value


def validate(data: Any, kind: type) -> None:
    """Check plain data against the JSON Schema of a class.

    Raises:
        DocumentError: With a pointer to the part that breaks the schema.
    """
    from jsonschema.exceptions import best_match

    error = best_match(_validator(kind).iter_errors(data))
    if error is not None:
        raise DocumentError(pointer(*error.absolute_path), _message(error))


def _message(error: ValidationError) -> str:
    message = error.message if len(error.message) < 200 else error.message[:200] + " ..."
    if error.validator == "additionalProperties" and isinstance(error.schema, dict):
        known = ", ".join(sorted(error.schema.get("properties", {})))
        return f"{message}; known here: {known}"
    return message


@cache
def _validator(kind: type) -> Any:
    import jsonschema

    from headgate.schema import schema_of

    return jsonschema.Draft7Validator(schema_of(kind))


def dumps(value: Any, *, indent: int | None = 2) -> str:
    """Write a value of the model as a JSON document; fields that hold their default are left out."""
    from headgate.schema import schema_id

    data = {"$schema": schema_id(type(value)), **unstructure(value)}
    return json.dumps(data, indent=indent, ensure_ascii=False, allow_nan=False) + "\n"


def write(path: str | Path, value: Any) -> None:
    """Write a document to a file, whole or not at all."""
    write_text(path, dumps(value))


def write_text(path: str | Path, text: str) -> None:
    """Write a file whole or not at all: beside its place first, then renamed into it.

    Raises:
        DocumentError: The place cannot be written.
    """
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(beside).chmod(0o644)
        Path(beside).replace(path)
    except OSError as error:
        raise DocumentError("", f"{path} cannot be written: {error.strerror}") from None


def unstructure(value: Any) -> Any:
    """A value of the model as plain data, ready for JSON."""
    return _converter().unstructure(value)


def canonical(request: Request) -> str:
    """The one JSON text that all requests of equal meaning share: nodes, topologies and so on in order of id."""
    return json.dumps(unstructure(_sorted(request)), sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest(request: Request) -> str:
    """Name a request by its content: SHA-256 of its canonical text."""
    return fingerprint(canonical(request))


def fingerprint(text: str) -> str:
    """SHA-256 of a text, with its name."""
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def _sorted(request: Request) -> Request:
    metrics = request.metrics
    return attrs.evolve(
        request,
        cluster=attrs.evolve(request.cluster, nodes=_by(request.cluster.nodes, "id")),
        topologies=tuple(
            attrs.evolve(
                each,
                components=_by(each.components, "id"),
                streams=_by(each.streams, "source", "target", "name"),
            )
            for each in _by(request.topologies, "id")
        ),
        metrics=attrs.evolve(
            metrics,
            tasks=_by(metrics.tasks, "task"),
            flows=_by(metrics.flows, "source", "target"),
            nodes=_by(metrics.nodes, "node"),
            topologies=_by(metrics.topologies, "topology"),
        ),
        profiles=_by(request.profiles, "topology", "component", "machine_type"),
    )


def _by(values: tuple[T, ...], *names: str) -> tuple[T, ...]:
    return tuple(sorted(values, key=lambda value: tuple(getattr(value, name) for name in names)))


@cache
def _converter() -> cattrs.Converter:
    import cattrs
    from cattrs.gen import make_dict_unstructure_fn

    converter = cattrs.Converter(omit_if_default=True, detailed_validation=False)
    converter.register_structure_hook(Slot, lambda text, _: Slot.parse(text))
    converter.register_unstructure_hook(Slot, str)
    converter.register_structure_hook(Resources, lambda amounts, _: Resources(amounts))
    converter.register_unstructure_hook(Resources, dict)
    converter.register_structure_hook_func(
        lambda kind: getattr(kind, "__origin__", None) is FrozenMap,
        lambda data, kind: FrozenMap({key: converter.structure(item, kind.__args__[1]) for key, item in data.items()}),
    )
    converter.register_unstructure_hook_func(
        lambda kind: getattr(kind, "__origin__", kind) is FrozenMap,
        lambda data: {key: converter.unstructure(item) for key, item in data.items()},
    )
    for whole in (Plan, Scores):  # readers of plans and tables want every figure, defaults included
        converter.register_unstructure_hook(whole, make_dict_unstructure_fn(whole, converter))
    return converter

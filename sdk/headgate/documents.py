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
from headgate.jsontext import parse
from headgate.model import Flow, FrozenMap, Observation, Plan, Profile, Request, Resources, Scores, Slot, Stream

if TYPE_CHECKING:
    from collections.abc import Iterable

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
    except (OSError, ValueError) as error:
        raise DocumentError("", f"{path} cannot be read: {getattr(error, 'strerror', error)}") from None
    return loads(text, kind)


def structure(data: Any, kind: type[T]) -> T:
    """Make a value of plain data that somebody wrote.

    Raises:
        DocumentError: The data break the schema of the class, or a request or observation contradicts itself; a
            request also when a task is assigned to a node or slot that is not there.
    """
    from headgate.check import check_places

    value = restore(data, kind)
    if isinstance(value, Request):
        check_places(value)
    return value


def restore(data: Any, kind: type[T]) -> T:
    """Make a value of plain data that Headgate itself recorded: a task may be assigned to a node that has died.

    Raises:
        DocumentError: The data break the schema of the class, or contradict themselves in another way.
    """
    from headgate.check import check_request

    if isinstance(data, dict):
        data = {key: value for key, value in data.items() if key != "$schema"}
    try:
        validate(data, kind)
        value = _converter().structure(data, kind)
    except DocumentError:
        raise
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise DocumentError("", f"this is no {kind.__name__.lower()}: {error}") from None
    if isinstance(value, Request | Observation):
        check_request(value if isinstance(value, Request) else Request.of(value))
    return value


def validate(data: Any, kind: type) -> None:
    """Check plain data against the JSON Schema of a class.

    Raises:
        DocumentError: With a pointer to the part that breaks the schema.
    """
    from jsonschema.exceptions import best_match

    error = best_match(_validator(kind).iter_errors(data))
    if error is not None:
        raise _fault(error)


def _fault(error: ValidationError) -> DocumentError:
    """The pointer of an unknown key is that of the key, not of the object around it."""
    if error.validator == "additionalProperties" and isinstance(error.schema, dict):
        known = sorted(error.schema.get("properties", {}))
        key = next(key for key in dict(error.instance) if key not in known)  # type: ignore[arg-type]
        return DocumentError(pointer(*error.absolute_path, key), f"unknown key; known here: {', '.join(known)}")
    message = error.message
    if error.validator == "pattern" and isinstance(error.schema, dict):
        message = f"{error.instance!r} is not {error.schema.get('description', 'as expected')}"
    message = message if len(message) < 200 else message[:200] + " ..."
    return DocumentError(pointer(*error.absolute_path), message)


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
    """Write a file whole or not at all: beside its place first, then renamed into it. A device is written to.

    Raises:
        DocumentError: The place cannot be written.
    """
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not path.is_file():
            path.write_text(text, encoding="utf-8")
        else:
            _replace(path, text)
    except OSError as error:
        raise DocumentError("", f"{path} cannot be written: {error.strerror}") from None


def _replace(path: Path, text: str) -> None:
    handle, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:100]}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(beside).chmod(0o644)
        Path(beside).replace(path)
    finally:
        Path(beside).unlink(missing_ok=True)


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
        cluster=attrs.evolve(
            request.cluster,
            nodes=_by([attrs.evolve(node, slots=tuple(sorted(node.slots))) for node in request.cluster.nodes], "id"),
        ),
        topologies=tuple(
            attrs.evolve(
                each,
                components=_by(each.components, "id"),
                streams=_by(each.streams, *(field.name for field in attrs.fields(Stream))),
            )
            for each in _by(request.topologies, "id")
        ),
        metrics=attrs.evolve(
            metrics,
            tasks=_by(metrics.tasks, "task"),
            flows=_by(metrics.flows, *(field.name for field in attrs.fields(Flow))),
            nodes=_by(metrics.nodes, "node"),
            topologies=_by(metrics.topologies, "topology"),
        ),
        profiles=_by(request.profiles, *(field.name for field in attrs.fields(Profile))),
    )


def _by(values: Iterable[T], *names: str) -> tuple[T, ...]:
    def key(value: T) -> tuple[tuple[bool, Any], ...]:
        found = (getattr(value, name) for name in names)
        return tuple((each is not None, each) for each in found)

    return tuple(sorted(values, key=key))


def _plain(amount: float | None) -> float | None:
    """One spelling for equal amounts, 1 and 1.0, 0.0 and -0.0."""
    return None if amount is None else amount + 0.0


@cache
def _converter() -> cattrs.Converter:
    import cattrs
    from cattrs.gen import make_dict_unstructure_fn

    converter = cattrs.Converter(omit_if_default=True, detailed_validation=False)
    converter.register_structure_hook_func(lambda kind: kind is object, lambda item, _: item)
    converter.register_structure_hook(Slot, lambda text, _: Slot.parse(text))
    converter.register_unstructure_hook(Slot, str)
    converter.register_structure_hook(
        Resources, lambda amounts, _: Resources({name: float(amount) for name, amount in amounts.items()})
    )
    converter.register_unstructure_hook(
        Resources, lambda amounts: {name: _plain(amount) for name, amount in amounts.items()}
    )
    for number in (float, float | None):
        converter.register_unstructure_hook(number, _plain)
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

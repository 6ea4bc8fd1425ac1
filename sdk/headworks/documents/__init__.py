"""Values of the model as documents: read, checked against their schema, written as JSON, and named by a digest."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from headworks.documents.convert import converter
from headworks.documents.formats import parse
from headworks.documents.schema import check_version, schema_id
from headworks.documents.strict_json import decoded
from headworks.errors import DocumentError
from headworks.model import Constraint, Flow, FrozenMap, Observation, Plan, Profile, Request, Stream, StreamSample
from headworks.model.validate import check_assigned, check_counts, check_places, check_request

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headworks.model import Node

T = TypeVar("T")


def loads(text: str | bytes, kind: type[T], *, source: str = "") -> T:
    """Read a document.

    Args:
        text: JSON, UTF-8; YAML or TOML if the name of its file says so.
        kind: The class to make of it: `Request`, `Plan`, `Observation` or any other class of the model.
        source: The file, for messages; see `headworks.documents.formats.parse`.

    Raises:
        DocumentError: The text is not JSON, holds NaN or a key twice, breaks its schema, or contradicts itself.
    """
    try:
        return structure(parse(text, source), kind)
    except DocumentError as error:
        raise DocumentError(error.pointer, error.message, source) from None


def read(path: str | Path, kind: type[T]) -> T:
    """Read a document from a file; see `loads`.

    Raises:
        DocumentError: The file cannot be read, or is none of that kind.
    """
    return loads(read_text(path), kind, source=str(path))


def read_text(path: str | Path) -> str:
    """The text of a file. Its bytes are released before values are made of it.

    Raises:
        DocumentError: The file cannot be read, or is not UTF-8.
    """
    try:
        found = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        raise DocumentError("", f"{path} cannot be read: {getattr(error, 'strerror', error)}") from None
    try:
        return decoded(found)
    except DocumentError as error:
        raise DocumentError("", error.message, str(path)) from None


def structure(data: Any, kind: type[T]) -> T:
    """Make a value of plain data that somebody wrote.

    Args:
        data: Dicts, lists, texts, numbers, booleans and None.

    Raises:
        DocumentError: The data break the schema of the class, or a request or observation contradicts itself; a
            request also when a task is assigned to a node or slot that is not there.
    """
    value = restore(data, kind)
    if isinstance(value, Request):
        check_places(value)
    return value


def restore(data: Any, kind: type[T]) -> T:
    """Make a value of plain data that Headworks itself recorded: a task may be assigned to a node that has died.

    Args:
        data: Dicts, lists, texts, numbers, booleans and None.

    Raises:
        DocumentError: `$schema` is another document's or major version's, or the data break the schema of the class, or
            contradict themselves in another way.
    """
    if isinstance(data, dict) and "$schema" in data:
        data = dict(data)
        check_version(data.pop("$schema"), kind)
    if kind in (Request, Observation):
        check_counts(data)
    elif kind is Plan:
        check_assigned(data)
    try:
        value: T = converter().structure(data, kind)
    except DocumentError as error:
        if error.pointer:
            raise
        raise DocumentError(
            "", f"this is not {'an' if kind is Observation else 'a'} {kind.__name__.lower()}: {error.message}"
        ) from None
    if isinstance(value, Request | Observation):
        check_request(value if isinstance(value, Request) else Request.of(value))
    return value


def dumps(value: Any, *, indent: int | None = 2) -> str:
    """Write a value of the model as a JSON document; fields that hold their default are left out.

    Args:
        indent: Blanks to a level; None for one line.
    """
    data = {"$schema": schema_id(type(value)), **unstructure(value)}
    return json.dumps(data, indent=indent, ensure_ascii=False, allow_nan=False) + "\n"


def write(path: str | Path, value: Any) -> None:
    """Write a document to a file, whole or not at all; its folder is made.

    Raises:
        DocumentError: The place cannot be written.
    """
    write_text(path, dumps(value))


def write_text(path: str | Path, text: str) -> None:
    """Write a text as UTF-8, whole or not at all: beside its place first, then renamed into it. A device is written to.

    The folder of the file is made.

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
    return converter().unstructure(value)


def canonical(request: Request) -> str:
    """The one JSON text of all requests with the same meaning, ordered by id."""
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
            nodes=_by(map(_in_order, request.cluster.nodes), "id"),
        ),
        topologies=tuple(
            attrs.evolve(
                each,
                components=_by(each.components, "id"),
                streams=_by(each.streams, *(field.name for field in attrs.fields(Stream))),
                constraints=_by(map(_ordered, each.constraints), "key"),
            )
            for each in _by(request.topologies, "id")
        ),
        metrics=attrs.evolve(
            metrics,
            tasks=_by(metrics.tasks, "task"),
            flows=_by(metrics.flows, *(field.name for field in attrs.fields(Flow))),
            nodes=_by(metrics.nodes, "node"),
            topologies=_by(metrics.topologies, "topology"),
            streams=_by(metrics.streams, *(field.name for field in attrs.fields(StreamSample))),
        ),
        profiles=_by(request.profiles, *(field.name for field in attrs.fields(Profile))),
    )


def _in_order(node: Node) -> Node:
    slots = tuple(sorted(node.slots))
    return node if node.slots == slots else attrs.evolve(node, slots=slots)


def _ordered(constraint: Constraint) -> Constraint:
    """The constraint with its components and values in order."""
    labels = {name: tuple(sorted(values)) for name, values in constraint.labels.items()}
    return attrs.evolve(constraint, components=tuple(sorted(constraint.components)), labels=FrozenMap(labels))


def _by(values: Iterable[T], *names: str) -> tuple[T, ...]:
    """The values in order of some fields, None before all else."""
    values, fields = tuple(values), attrgetter(*names)
    try:
        return tuple(sorted(values, key=fields))
    except TypeError:  # None compares with no number
        return tuple(sorted(values, key=lambda value: [(each is not None, each) for each in fields(value)]))

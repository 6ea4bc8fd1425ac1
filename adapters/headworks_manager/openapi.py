"""The description of the HTTP interface for programs (OpenAPI 3.1), made of the operations and of their classes."""

from __future__ import annotations

import json
import re
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from headworks.documents.schema import schema_of
from headworks_manager.operations import LONGEST_PAGE, OPERATIONS, Problem

if TYPE_CHECKING:
    from headworks_manager.operations import Operation

QUERY: dict[str, dict[str, Any]] = {
    "limit": {"type": "integer", "minimum": 1, "maximum": LONGEST_PAGE},
    "after": {"type": "string"},
    "before": {"type": "integer", "minimum": 1},
    "topology": {"type": "string"},
    "now": {"type": "boolean"},
}
"""Schemas of the keys of queries."""
PROBLEMS = {
    400: "The document is none, or does not fit: `pointer` names the part.",
    401: "The token is missing or wrong.",
    404: "There is no such topology or source.",
    408: "The body did not come in time.",
    409: "The cluster, as it was seen last, does not allow it.",
    412: "It is no longer as you saw it: read it again.",
    413: "The body is too large.",
    503: "The manager cannot answer now: nothing changed; try again.",
}


def described() -> dict[str, Any]:
    """The description."""
    kinds = [kind for each in OPERATIONS for kind in (each.takes, each.gives) if kind is not None]
    schemas = {name: schema for kind in (*kinds, Problem) for name, schema in _schemas(kind).items()}
    paths: dict[str, dict[str, Any]] = {}
    for each in OPERATIONS:
        paths.setdefault(each.path, {})[each.method.lower()] = _operation(each)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Headworks priority manager", "version": version("headworks")},
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": dict(sorted(schemas.items())),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _schemas(kind: type) -> dict[str, Any]:
    """The schema of a class and those that it reaches, by name."""
    text = json.dumps(schema_of(kind)).replace("#/definitions/", "#/components/schemas/")
    made: dict[str, Any] = json.loads(text)
    inner = made.pop("definitions")
    return {**inner, kind.__name__: {key: made[key] for key in made if not key.startswith("$")}}


def _operation(operation: Operation) -> dict[str, Any]:
    known = {400, 401, 503, *((404,) if operation.path.count("{") or "topology" in operation.query else ())}
    known |= {404, 408, 409, 413} if operation.takes else set()
    known |= {412} if operation.guarded else set()
    made: dict[str, Any] = {
        "operationId": operation.act.__name__,
        "summary": (operation.act.__doc__ or "").partition("\n")[0],
        "parameters": list(_parameters(operation)),
        "responses": {**_answers(operation), **{str(code): _problem(code) for code in sorted(known)}},
    }
    if operation.takes is not None:
        made["requestBody"] = {"required": True, "content": _content(operation.takes)}
    return made


def _parameters(operation: Operation) -> list[dict[str, Any]]:
    names = re.findall(r"{(\w+)}", operation.path)
    tags = ("If-Match", "If-None-Match") if operation.guarded else ()
    return [
        *({"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names),
        *({"name": name, "in": "query", "schema": QUERY[name]} for name in operation.query),
        *({"name": name, "in": "header", "schema": {"type": "string"}} for name in tags),
    ]


def _answers(operation: Operation) -> dict[str, Any]:
    if operation.gives is None:
        return {"204": {"description": "Done."}}
    made: dict[str, Any] = {"description": "Done.", "content": _content(operation.gives)}
    if operation.path.endswith("{name}"):
        made["headers"] = {"ETag": {"description": "Names the state that was set.", "schema": {"type": "string"}}}
    return {"200": made, **({"201": made} if operation.created else {})}


def _problem(code: int) -> dict[str, Any]:
    return {"description": PROBLEMS[code], "content": _content(Problem, "application/problem+json")}


def _content(kind: type, media: str = "application/json") -> dict[str, Any]:
    return {media: {"schema": {"$ref": f"#/components/schemas/{kind.__name__}"}}}

"""The manager over HTTP: triggers and priorities, for callers who know the token."""

# Annotations are values here: FastAPI reads them where functions are made.

import secrets
from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib.metadata import version
from typing import Annotated, Any

import attrs
from fastapi import APIRouter, Depends, FastAPI, HTTPException, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.exceptions import HTTPException as StarletteError

from headworks.documents import loads, structure
from headworks.documents.schema import schema_of
from headworks.documents.strict_json import parse
from headworks.errors import DocumentError, EngineError, HeadworksError, pointer
from headworks_manager.database.history import Author
from headworks_manager.database.store import Store
from headworks_manager.plain import change_data, merged_data, topologies_data
from headworks_manager.rules.indication import LARGEST, Trigger

LARGEST_BODY = 64 * 1024
"""Bytes that a request may bring."""
RETRY = 2
"""Seconds after which a caller is told to try again while the database is gone."""
SECONDS = ("hold", "aging")
"""Fields of a `Setting` that are seconds there and milliseconds in an `Indication`."""
BEARER = HTTPBearer(auto_error=False)


@attrs.frozen(kw_only=True)
class Setting:
    """New values of a topology's indication; a field that is not given stays, null takes back what was set.

    Attributes:
        priority: Its level while no trigger is on; lower numbers are more important.
        trigger_priority: Its level while its trigger is on.
        desired_nodes: Nodes it would like to use.
        minimum_nodes: Nodes it must have.
        hold: Seconds between two changes by triggers.
        aging: Seconds that it may starve before it comes first.
        why: Reason, for the history.
    """

    priority: int | None = None
    trigger_priority: int = 0
    desired_nodes: int | None = None
    minimum_nodes: int | None = None
    hold: float = 0.0
    aging: float | None = None
    why: str = ""


async def _bounded(request: Request) -> bytes:
    """The body of a request, of which no more is read than a body may have."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > LARGEST_BODY:
            raise HTTPException(413, f"the body has more than {LARGEST_BODY} bytes: send one trigger in a request")
    return body


Body = Annotated[bytes, Depends(_bounded)]


class Routes:
    """Requests that callers may make; each is answered in a thread of its own."""

    def __init__(
        self, use: Callable[[], AbstractContextManager[Store]], token: str, tell: Callable[[dict[str, Any]], None]
    ) -> None:
        """Take the database and the secret.

        Args:
            use: Opens the store, or takes the one that is open.
            token: Secret of callers.
            tell: Hears of each trigger and change that was taken, from any thread; does not block.
        """
        self._use, self._token, self._tell = use, token.encode(), tell

    async def allowed(self, sent: Annotated[HTTPAuthorizationCredentials | None, Depends(BEARER)]) -> None:
        """Refuse who does not send the token, in a time that does not depend on how much of it is right."""
        if sent is None or not secrets.compare_digest(sent.credentials.encode(), self._token):
            raise HTTPException(401, "send `Authorization: Bearer TOKEN`", headers={"WWW-Authenticate": "Bearer"})

    def trigger(self, request: Request, body: Body, *, now: bool = False) -> dict[str, Any]:
        """Send Trigger On or Trigger Off, again if no answer came; `now` does not wait for the hold.

        Args:
            request: The request.
            body: A `Trigger` as a document.
            now: Whether it counts at once.
        """
        trigger = loads(body, Trigger)
        with self._use() as store:
            done = merged_data(store.trigger(trigger, _author(request), at_once=now))
        self._tell(done)
        return done

    def change(self, request: Request, name: str, body: Body) -> dict[str, Any]:
        """Register a topology, or change what is given.

        Args:
            request: The request.
            name: Name of the topology.
            body: A `Setting` as a document.
        """
        fields = parse(body)
        made = attrs.asdict(structure(fields, Setting))
        given = {key: _unit(key, made[key]) for key in fields if key in made and key != "why"}
        with self._use() as store:
            done = change_data(store.set(name, given, _author(request, made["why"])))
        self._tell(done)
        return done

    def topologies(self) -> list[dict[str, Any]]:
        """List the registered topologies: priorities, nodes, triggers; who starves, since when, what it would take."""
        with self._use() as store:
            return topologies_data(store)

    def history(
        self, topology: str | None = None, last: Annotated[int, Query(ge=1, le=1000)] = 20
    ) -> list[dict[str, Any]]:
        """Show the newest changes, of one topology or of all: when, who, why.

        Args:
            topology: Name of the topology, None for all.
            last: Number of changes, at most.
        """
        with self._use() as store:
            return [change_data(each) for each in store.history(topology, limit=last)]


def application(routes: Routes) -> FastAPI:
    """The routes with their description (OpenAPI): `/docs` for people, `/openapi.json` for programs."""
    app = FastAPI(
        title="Headworks priority manager",
        version=version("headworks"),
        redoc_url=None,
        description="Priorities of topologies, and triggers that change them, while they run.",
    )
    router = APIRouter(dependencies=[Depends(routes.allowed)], responses=_errors())
    add = router.add_api_route
    add("/triggers", routes.trigger, methods=["POST"], openapi_extra=_takes(Trigger), **_told(routes.trigger))
    add("/topologies", routes.topologies, methods=["GET"], **_told(routes.topologies))
    add("/topologies/{name}", routes.change, methods=["PATCH"], openapi_extra=_takes(Setting), **_told(routes.change))
    add("/history", routes.history, methods=["GET"], **_told(routes.history))
    app.include_router(router)
    app.add_exception_handler(HeadworksError, _failed)
    app.add_exception_handler(RequestValidationError, _not_understood)
    app.add_exception_handler(StarletteError, _refused)
    return app


def _told(route: Callable[..., Any]) -> dict[str, Any]:
    """A route's description for people: the first line of its docstring."""
    return {"description": (route.__doc__ or "").partition("\n")[0]}


def _author(request: Request, why: str = "") -> Author:
    return Author(who=f"http from {request.client.host if request.client else 'a socket'}", why=why)


def _unit(key: str, value: Any) -> Any:
    if key not in SECONDS or value is None:
        return value
    if not 0 <= value <= LARGEST / 1000:
        raise DocumentError(f"/{key}", f"{value} does not fit: give seconds from 0 to {LARGEST // 1000}")
    return round(value * 1000)


def _takes(kind: type) -> dict[str, Any]:
    schema = {key: value for key, value in schema_of(kind).items() if key not in ("$schema", "$id", "definitions")}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def _errors() -> dict[int | str, dict[str, Any]]:
    words = {
        400: "The document is none, or does not fit: `pointer` names the part.",
        401: "The token is missing or wrong.",
        413: "The body is too large.",
        503: "The database does not answer: nothing changed; try again.",
    }
    return {code: {"description": said} for code, said in words.items()}


def _failed(_request: Request, error: Exception) -> JSONResponse:
    """Answer with what Headworks raised on purpose."""
    if isinstance(error, DocumentError):
        return JSONResponse({"error": error.message, "pointer": error.pointer}, 400)
    gone = isinstance(error, EngineError)
    return JSONResponse(
        {"error": str(error), "pointer": ""}, 503 if gone else 500, headers={"Retry-After": str(RETRY)} if gone else {}
    )


def _not_understood(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    return JSONResponse({"error": first["msg"], "pointer": pointer(*first["loc"][1:])}, 400)


def _refused(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, StarletteError)
    return JSONResponse({"error": error.detail, "pointer": ""}, error.status_code, headers=dict(error.headers or {}))

"""The manager over HTTP, for callers who know the token: requests become calls, and what is wrong becomes a problem."""

from __future__ import annotations

import asyncio
import secrets
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from headworks.errors import DocumentError, HeadworksError
from headworks_manager.database.history import Author
from headworks_manager.openapi import described
from headworks_manager.operations import OPERATIONS, Call, Problem, check_query
from headworks_manager.plain import plain
from headworks_manager.rules.refusals import ConflictError, StaleError, UnknownError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from contextlib import AbstractContextManager

    from starlette.requests import Request

    from headworks_local.private_files import SecretFile
    from headworks_manager.database.store import Store
    from headworks_manager.operations import Operation

    Endpoint = Callable[[Request], Awaitable[Response]]

LARGEST_BODY = 64 * 1024
"""Bytes that a request may bring."""
PATIENCE = 10.0
"""Seconds in which a body has to come."""
RETRY = 2
"""Seconds after which a caller is told to try again while the database is gone."""
STATUS: dict[type[DocumentError], int] = {UnknownError: 404, ConflictError: 409, StaleError: 412}
"""Status of errors that are no fault of the document itself."""


def application(
    use: Callable[[], AbstractContextManager[Store]], token: SecretFile, tell: Callable[[dict[str, Any]], None]
) -> Starlette:
    """The operations, each in a thread of its own; `/openapi.json` describes them, `/healthz` says whether they work.

    Args:
        use: Opens the store, or takes the one that is open.
        token: Secret of callers.
        tell: Hears of each trigger and change that was taken, from any thread; does not block.
    """

    def act(operation: Operation, call: Call) -> Response:
        with use() as store:
            answer = operation.act(store, call)
        if answer.told is not None:
            tell(plain(answer.told))
        if answer.value is None:
            return Response(status_code=HTTPStatus.NO_CONTENT)
        return JSONResponse(plain(answer.value), answer.status, {"ETag": answer.etag} if answer.etag else None)

    def endpoint(operations: dict[str, Operation]) -> Endpoint:
        async def answered(request: Request) -> Response:
            _check_token(request, token)
            operation = operations["GET" if request.method == "HEAD" else request.method]
            return await run_in_threadpool(act, operation, await _call(request, operation))

        return answered

    def look() -> Response:
        with use() as store:
            store.seen()
        return JSONResponse({"status": "ok"})

    async def health(_request: Request) -> Response:
        return await run_in_threadpool(look)

    description = described()
    paths: dict[str, dict[str, Operation]] = {}
    for each in OPERATIONS:
        paths.setdefault(each.path, {})[each.method] = each
    return Starlette(
        routes=[
            *(Route(path, endpoint(found), methods=[*found]) for path, found in paths.items()),
            Route("/healthz", health),
            Route("/openapi.json", lambda _request: JSONResponse(description)),
        ],
        exception_handlers={HTTPException: _refused, HeadworksError: _failed, Exception: _broken},
    )


def _check_token(request: Request, token: SecretFile) -> None:
    """Refuse who does not send the token, in a time that does not depend on how much of it is right."""
    scheme, _, sent = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not secrets.compare_digest(sent.encode(), token.read().encode()):
        raise HTTPException(401, "send `Authorization: Bearer TOKEN`", headers={"WWW-Authenticate": "Bearer"})


async def _call(request: Request, operation: Operation) -> Call:
    query = dict(request.query_params)
    check_query(operation, query)
    return Call(
        path=request.path_params,
        query=query,
        body=await _body(request),
        match=request.headers.get("If-Match"),
        none_match=request.headers.get("If-None-Match"),
        author=Author(who=f"http from {request.client.host if request.client else 'a socket'}"),
    )


async def _body(request: Request) -> bytes:
    """The body of a request, of which no more is read than a body may have, and for no longer than it may take."""
    body = b""
    try:
        async with asyncio.timeout(PATIENCE):
            async for part in request.stream():
                body += part
                if len(body) > LARGEST_BODY:
                    raise HTTPException(413, f"the body has more than {LARGEST_BODY} bytes: send one trigger a request")
    except TimeoutError:
        raise HTTPException(408, f"the body did not come in {PATIENCE:g} s") from None
    return body


def _failed(_request: Request, error: Exception) -> Response:
    """Answer with what Headworks raised on purpose; where a file or the database fails, its name is the operator's."""
    if isinstance(error, DocumentError):
        return _problem(STATUS.get(type(error), 400), error.message, error.pointer)
    return _problem(503, "the manager cannot answer now: nothing changed; try again", **{"Retry-After": str(RETRY)})


def _refused(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _problem(error.status_code, error.detail, **dict(error.headers or {}))


def _broken(_request: Request, _error: Exception) -> Response:
    return _problem(500, "the manager has a fault: its log has more")


def _problem(status: int, detail: str, pointer: str = "", **headers: str) -> Response:
    problem = Problem(title=HTTPStatus(status).phrase, status=status, detail=detail, pointer=pointer)
    return JSONResponse(plain(problem), status, headers, media_type="application/problem+json")

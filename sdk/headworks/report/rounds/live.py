"""The page of a journal while it grows, over HTTP on this machine, for who knows the token. It changes nothing."""

from __future__ import annotations

import asyncio
import hashlib
import json
import secrets
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import (
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route

from headworks.errors import DocumentError
from headworks.report.rounds.page import asset, skeleton
from headworks.report.rounds.scene import scene, why

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from starlette.requests import Request

    from headworks.report.rounds.tail import JournalTail

LOOK = 1.0
"""Seconds between two looks at the journal."""
ALIVE = 15.0
"""Seconds after which a browser hears that the server lives."""
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
TYPES = {"rounds.css": "text/css", "rounds.js": "text/javascript"}


def application(tail: JournalTail, token: str, hosts: list[str]) -> Starlette:
    """The page, its rounds as they come, and the placement and the reasons of each.

    Args:
        tail: The journal.
        token: Secret that a browser brings once, as `/?token=...`; a cookie has it from then on.
        hosts: Names by which this server may be asked: a page of another site that points its own name here is none.
    """
    views = _Views(tail, token)
    return Starlette(
        routes=[
            Route("/", views.root),
            *(Route(f"/{name}", views.guarded(views.file)) for name in TYPES),
            Route("/rounds", views.guarded(views.rounds)),
            Route("/scene/{record:int}", views.guarded(views.scene)),
            Route("/why/{record:int}", views.guarded(views.why)),
        ],
        middleware=[Middleware(_WithHeaders), Middleware(TrustedHostMiddleware, allowed_hosts=hosts)],
        exception_handlers={DocumentError: _unknown, HTTPException: _refused},
    )


def cookie(token: str) -> str:
    """Name of the cookie that has a token: browsers keep those of one host together, whatever the port."""
    return f"headworks-{hashlib.sha256(token.encode()).hexdigest()[:8]}"


class _Views:
    """Answers to a browser; none is given to one that does not know the token."""

    def __init__(self, tail: JournalTail, token: str) -> None:
        self._tail, self._token = tail, token

    def guarded(self, act: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
        async def answered(request: Request) -> Response:
            if not self._knows(request.cookies.get(cookie(self._token), "")):
                raise HTTPException(401, "open the address that `headworks watch` printed, with its token")
            return await act(request)

        return answered

    def _knows(self, said: str) -> bool:
        """Check a secret, in a time that does not depend on how much of it is right."""
        return secrets.compare_digest(said.encode(), self._token.encode())

    async def root(self, request: Request) -> Response:
        if self._knows(request.query_params.get("token", "")):
            answer = RedirectResponse("/", 303)  # so that the token is in no history, and in no link
            answer.set_cookie(cookie(self._token), self._token, httponly=True, samesite="strict")
            return answer
        return await self.guarded(self._page)(request)

    async def _page(self, _request: Request) -> Response:
        head = '<link rel="stylesheet" href="rounds.css"><script src="rounds.js" defer></script>'
        return HTMLResponse(skeleton(f"Headworks: {self._tail.path.name}", "is being read", head, ""))

    async def file(self, request: Request) -> Response:
        name = request.url.path.lstrip("/")
        return Response(asset(name), media_type=TYPES[name])

    async def rounds(self, request: Request) -> Response:
        last = request.headers.get("last-event-id", "0")
        events = _events(self._tail, int(last) if last.isdecimal() else 0)
        return StreamingResponse(events, media_type="text/event-stream")

    async def scene(self, request: Request) -> Response:
        record = request.path_params["record"]
        return JSONResponse(await run_in_threadpool(lambda: scene(self._tail.decision(record))))

    async def why(self, request: Request) -> Response:
        task, record = request.query_params.get("task", ""), request.path_params["record"]
        return JSONResponse(await run_in_threadpool(lambda: why(self._tail.decision(record), task)))


async def _unknown(_request: Request, error: Exception) -> Response:
    return PlainTextResponse(str(error), 404)


async def _refused(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return PlainTextResponse(error.detail, error.status_code)


async def _events(tail: JournalTail, last: int) -> AsyncIterator[str]:
    """Rounds after a record, as events of a stream: those that are there at once, then each as it is written."""
    quiet = 0.0
    while True:
        await run_in_threadpool(tail.refresh)
        fresh = [each for each in list(tail.summaries) if each["record"] > last]
        if fresh:
            last, quiet = fresh[-1]["record"], 0.0
            yield f"id: {last}\ndata: {json.dumps(fresh, allow_nan=False)}\n\n"
        elif quiet >= ALIVE:
            quiet = 0.0
            yield ": \n\n"
        await asyncio.sleep(LOOK)
        quiet += LOOK


class _WithHeaders:
    """Sends what tells a browser to trust nothing but this page."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async def sent(message: Any) -> None:
            if message["type"] == "http.response.start":
                more = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
                message = {**message, "headers": [*message["headers"], *more]}
            await send(message)

        await self._app(scope, receive, sent)

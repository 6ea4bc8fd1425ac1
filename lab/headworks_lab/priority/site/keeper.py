"""The manager's process, and what programs ask it over HTTP."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from http.client import CREATED, OK, HTTPConnection, HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import attrs

from headworks.errors import EngineError
from headworks_local.lifetime import lifetime
from headworks_local.ports import Ports
from headworks_local.private_files import read_or_make_secret
from headworks_local.process import Daemon, end, end_group, patience

if TYPE_CHECKING:
    from collections.abc import Mapping

STARTS = 120.0
"""Seconds that the manager may take to listen. With fewer, a busy machine fails the demo."""
ANSWER = 30.0
"""Seconds that it may take to answer."""
GRACE = 5.0
"""Seconds that it has to end by itself."""


@attrs.define(eq=False)
class Keeper:
    """`headworks priority serve`, up in a `with` block, on a database of its own.

    Attributes:
        folder: Where the database, the token and its log are.
    """

    folder: Path
    _ports: Ports = attrs.field(init=False, factory=Ports)
    _daemon: Daemon = attrs.field(init=False, default=None)
    _port: int = attrs.field(init=False, default=0)
    _group: str = attrs.field(init=False, default="")

    @property
    def url(self) -> str:
        """Address at which it listens."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def database(self) -> Path:
        """Its database."""
        return self.folder / "priorities.sqlite"

    @property
    def token(self) -> Path:
        """The file with its token."""
        return self.folder / "manager.token"

    def __enter__(self) -> Self:
        read_or_make_secret(self.token)
        (self._port,) = self._ports.take()
        self._ports.release()  # Python's servers do not listen on a port that is held
        words = ["--listen", f"127.0.0.1:{self._port}", "--token", self.token, "--database", self.database]
        command = [sys.executable, "-m", "headworks", "priority", "serve", *map(str, words)]
        self._group = lifetime().group()
        log = self.folder / "manager.log"
        self._daemon = Daemon.start("the priority manager", command, log=log, env=os.environ, group=self._group)
        try:
            self._wait()
        except BaseException:  # a signal too: it must not outlive a start that failed
            self.__exit__()
            raise
        return self

    def __exit__(self, *_error: object) -> None:
        end([self._daemon], grace=GRACE)
        end_group(self._group)

    def set(self, name: str, **fields: Any) -> None:
        """Register a topology, or replace what was set for it.

        Args:
            name: Its name.
            fields: Fields of its indication.

        Raises:
            EngineError: The manager does not answer, or refuses.
        """
        self._ask("PUT", f"/v1/topologies/{name}", fields)

    def history(self, name: str) -> list[dict[str, Any]]:
        """Rows of a topology's history, the oldest first.

        Args:
            name: Its name.

        Raises:
            EngineError: The manager does not answer.
        """
        found: list[dict[str, Any]] = []
        cursor = ""
        while True:
            page = self._ask("GET", f"/v1/history?topology={name}&limit=1000{cursor}", None)
            found += page["items"]
            if page["next"] is None:
                return found[::-1]
            cursor = f"&before={page['next']}"

    def _wait(self) -> None:
        for _ in patience(lambda: [self._daemon], STARTS, f"the priority manager does not listen on {self.url}"):
            try:
                self._ask("GET", "/healthz", None)
            except EngineError:
                continue
            return

    def _ask(self, method: str, path: str, body: Mapping[str, Any] | None) -> Any:
        data = None if body is None else json.dumps(body)
        head = {"Authorization": f"Bearer {self.token.read_text().strip()}", "Content-Type": "application/json"}
        try:
            with contextlib.closing(HTTPConnection("127.0.0.1", self._port, timeout=ANSWER)) as connection:
                connection.request(method, path, data, head)
                answer = connection.getresponse()
                text = answer.read().decode()
        except (OSError, HTTPException) as error:
            raise EngineError(f"the priority manager at {self.url} does not answer: {error}") from None
        if answer.status not in (OK, CREATED):
            raise EngineError(f"the priority manager answers {answer.status}: {text}")
        return json.loads(text)

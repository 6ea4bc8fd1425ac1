"""`headworks priority serve` as a process of its own, and what it is asked with."""

from __future__ import annotations

import http.client
import json
import socket
from contextlib import closing, contextmanager
from pathlib import Path

from patience import PATIENCE
from shell import running


class Served:
    """A manager that listens, and what it is asked with."""

    def __init__(self, url, token):
        self.address, self.token = (url.rpartition("/")[2].partition(":")[0], int(url.rpartition(":")[2])), token

    def ask(self, method, path, body=None, token=None, raw=None, **head):
        """The status and the document of an answer."""
        status, _, document = self.answer(method, path, body, token, raw, **head)
        return status, document

    def answer(self, method, path, body=None, token=None, raw=None, **head):
        """The status, the head and the document of an answer; None if it is empty."""
        text = json.dumps(body) if raw is None else raw
        head = {key.replace("_", "-"): value for key, value in head.items()}
        head = {"Authorization": f"Bearer {self.token if token is None else token}", **head}
        with closing(http.client.HTTPConnection(*self.address, timeout=PATIENCE)) as connection:
            connection.request(method, path, None if method == "GET" else text, head)
            answer = connection.getresponse()
            read = answer.read()
            return answer.status, answer.headers, json.loads(read) if read else None

    def items(self, path):
        """All entries of a list, page by page."""
        found, cursor = [], ""
        while True:
            status, page = self.ask("GET", path + cursor)
            assert status == 200, page
            found += page["items"]
            if page["next"] is None:
                return found
            key = "after" if "topologies" in path else "before"
            cursor = f"{'&' if '?' in path else '?'}{key}={page['next']}"

    def connect(self):
        return socket.create_connection(self.address, timeout=PATIENCE)


@contextmanager
def serving(folder, *words):
    """A manager on a port of the system's, with a database and a token in a folder."""
    more = ("--listen", "127.0.0.1:0", "--database", folder / "p.sqlite", "--token", folder / "token", "--json", *words)
    with running("priority", "serve", *more, folder=folder) as (process, mark):
        told = json.loads(process.stdout.readline())
        served = Served(told["url"], Path(told["token"]).read_text().strip())
        served.process, served.mark = process, mark
        yield served

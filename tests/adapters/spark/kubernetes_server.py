"""The part of a Kubernetes API server that Spark's client talks to: it keeps objects, and tells watchers of changes.

It is a stand-in. It checks no rights and no types, and a patch of any kind but JSON's is merged.
"""

from __future__ import annotations

import copy
import http
import json
import re
import threading
import urllib.parse
import uuid
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self

import attrs
import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = dict[str, Any]
KINDS = {
    "configmaps": "ConfigMap",
    "networkpolicies": "NetworkPolicy",
    "nodes": "Node",
    "persistentvolumeclaims": "PersistentVolumeClaim",
    "pods": "Pod",
    "services": "Service",
}
PATH = re.compile(rf"/(?:api|apis/[^/]+)/v1(?:/namespaces/[^/]+)?/({'|'.join(KINDS)})(?:/([^/]+))?(/status)?")
CONFIG_MAPS, PODS, SERVICES = (f"/api/v1/namespaces/default/{kind}" for kind in ("configmaps", "pods", "services"))
NODES = "/api/v1/nodes"
LOOK = 1.0
"""Seconds after which a watch looks whether the server has ended."""


@attrs.define(eq=False)
class Objects:
    """Objects by their path, and all that happened to them, in order."""

    found: dict[str, Json] = attrs.field(factory=dict)
    events: list[tuple[str, Json]] = attrs.field(factory=list)
    changed: threading.Condition = attrs.field(factory=threading.Condition)

    def put(self, path: str, item: Json) -> Json:
        """Keep an object, new or changed."""
        with self.changed:
            kind = "MODIFIED" if path in self.found else "ADDED"
            self.found[path] = item
            return self._tell(kind, path, item)

    def merge(self, path: str, change: Json) -> Json | None:
        """Change an object where a change says another value; None if there is none."""
        with self.changed:
            return self.put(path, merged(self.found[path], change)) if path in self.found else None

    def remove(self, path: str) -> None:
        """Forget an object, if there is one."""
        with self.changed:
            if path in self.found:
                self._tell("DELETED", path, self.found.pop(path))

    def under(self, path: str, selector: str = "", fields: str = "") -> dict[str, Json]:
        """The objects of a collection that labels and fields select."""
        with self.changed:
            return {name: item for name, item in self.found.items() if is_in(name, path, item, selector, fields)}

    def _tell(self, kind: str, path: str, item: Json) -> Json:
        item["metadata"]["resourceVersion"] = str(len(self.events) + 1)
        self.events.append((path, {"type": kind, "object": copy.deepcopy(item)}))
        self.changed.notify_all()
        return item


def merged(item: Any, change: Any) -> Any:
    """A JSON merge patch (RFC 7396)."""
    if not isinstance(change, dict):
        return change
    known = item if isinstance(item, dict) else {}
    kept = {name: value for name, value in known.items() if name not in change}
    return kept | {name: merged(known.get(name), value) for name, value in change.items() if value is not None}


def patched(item: Json, steps: list[Json]) -> Json:
    """A JSON patch (RFC 6902) of objects in objects: Spark's client changes no lists."""
    found = copy.deepcopy(item)
    for step in steps:
        *parents, name = (each.replace("~1", "/").replace("~0", "~") for each in step["path"].split("/")[1:])
        inner = found
        for parent in parents:
            inner = inner[parent]
        if step["op"] == "remove":
            inner.pop(name)
        elif step["op"] in {"add", "replace"}:
            inner[name] = step["value"]
    return found


def is_in(name: str, collection: str, item: Json, selector: str, fields: str) -> bool:
    """True if a collection has an object that labels and fields select."""
    return (
        name.rpartition("/")[0] == collection
        and all(fits(item["metadata"].get("labels", {}), each) for each in re.split(r",(?![^(]*\))", selector) if each)
        and all(has(item, *each.split("=", 1)) for each in fields.split(",") if each)
    )


def has(item: Any, field: str, value: str) -> bool:
    """True if a field such as `status.phase` has a value."""
    for name in field.split("."):
        item = item.get(name, {})
    return bool(item == value)


def fits(labels: dict[str, str], requirement: str) -> bool:
    """True if labels fit one requirement of a selector, such as `role=executor` or `id notin (1, 2)`."""
    if within := re.fullmatch(r"(\S+) (in|notin) \((.*)\)", requirement):
        name, how, values = within.groups()
        return (labels.get(name) in re.split(r",\s*", values)) is (how == "in")
    if equal := re.fullmatch(r"([^=!]+)(!?)==?(.*)", requirement):
        name, unequal, value = equal.groups()
        return (labels.get(name) == value) is not bool(unequal)
    return (requirement.lstrip("!") in labels) is not requirement.startswith("!")


class Handler(BaseHTTPRequestHandler):
    """Answers the requests of one connection."""

    protocol_version = "HTTP/1.1"
    server: ApiServer

    def log_message(self, *_words: object) -> None:
        """Say nothing on the terminal."""

    def do_GET(self) -> None:
        """Answer with an object or a list, or tell of changes for as long as who asks listens."""
        path, kind, name = self._path()
        if kind and not name and self._asked("watch") in {"true", "1"}:
            # Spark's client first asks for a web socket, and watches by HTTP where it gets none.
            self._answer({}) if self.headers.get("Upgrade") else self._watch(path)
        elif kind and not name:
            with self.server.objects.changed:
                items = list(self.server.objects.under(path, *self._selectors()).values())
                version = {"resourceVersion": str(len(self.server.objects.events))}
                self._answer({"kind": f"{KINDS[kind]}List", "apiVersion": "v1", "metadata": version, "items": items})
        else:
            self._answer(self.server.objects.found.get(path))

    def do_POST(self) -> None:
        """Make an object."""
        path, kind, _ = self._path()
        self._answer(self._make(path, kind, self._body()) if kind else None, http.HTTPStatus.CREATED)

    def do_PUT(self) -> None:
        """Replace an object."""
        path, _, _ = self._path()
        objects, body = self.server.objects, self._body()
        self._answer(objects.put(path, body) if path in objects.found else None)

    def do_PATCH(self) -> None:
        """Change an object; an applied one may be new."""
        path, kind, _ = self._path()
        objects, body, how = self.server.objects, self._body(), self.headers.get("Content-Type", "")
        with objects.changed:
            if path not in objects.found and kind and "apply" in how:
                self._answer(self._make(path.rpartition("/")[0], kind, body))
            elif path in objects.found and isinstance(body, list):
                self._answer(objects.put(path, patched(objects.found[path], body)))
            else:
                self._answer(objects.merge(path, body))

    def do_DELETE(self) -> None:
        """Delete an object, or those that a selector names; a kubelet has to end a pod first."""
        path, _, name = self._path()
        grace = int((self._body() or {}).get("gracePeriodSeconds", self._asked("gracePeriodSeconds") or 30))
        objects = self.server.objects
        with objects.changed:
            found = [path] * (path in objects.found) if name else list(objects.under(path, *self._selectors()))
            for each in found:
                self.server.delete(each, grace)
        self._answer({"kind": "Status", "apiVersion": "v1", "status": "Success"} if found or not name else None)

    def _path(self) -> tuple[str, str, str]:
        """Path of the object or collection, its kind, "" if it is none of ours, and the object's name."""
        path = urllib.parse.unquote(urllib.parse.urlsplit(self.path).path)
        found = PATH.fullmatch(path)
        return (path.removesuffix("/status"), found[1], found[2] or "") if found else (path, "", "")

    def _asked(self, name: str) -> str:
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
        return query.get(name, [""])[0]

    def _selectors(self) -> tuple[str, str]:
        return self._asked("labelSelector"), self._asked("fieldSelector")

    def _body(self) -> Any:
        """What was sent; YAML has JSON in it."""
        return yaml.safe_load(self.rfile.read(int(self.headers.get("Content-Length", 0))))

    def _make(self, collection: str, kind: str, body: Json) -> Json:
        own = {"uid": str(uuid.uuid4()), "namespace": "default", "creationTimestamp": now()}
        status = {"status": {"phase": "Pending"}} if kind == "pods" else {}
        item = merged({"kind": KINDS[kind], "apiVersion": "v1", "metadata": own} | status, body)
        self.server.requests.append(item)
        return self.server.objects.put(f"{collection}/{item['metadata']['name']}", item)

    def _answer(self, item: Json | None, code: http.HTTPStatus = http.HTTPStatus.OK) -> None:
        if item is None:
            code = http.HTTPStatus.NOT_FOUND
            item = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": "NotFound"}
        data = json.dumps(item).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _watch(self, path: str) -> None:
        self.send_response(http.HTTPStatus.OK)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.close_connection = True
        try:
            for event in self._events(path):
                data = json.dumps(event).encode() + b"\n"
                self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        except ConnectionError:
            return  # who watched has gone

    def _events(self, path: str) -> Iterator[Json]:
        """What there is, unless a version is asked for, and then what happens."""
        objects, selectors, asked = self.server.objects, self._selectors(), self._asked("resourceVersion")
        known: list[Json] = []
        with objects.changed:
            since = int(asked or 0) or len(objects.events)
            if asked in {"", "0"}:
                known = copy.deepcopy(list(objects.under(path, *selectors).values()))
        yield from ({"type": "ADDED", "object": each} for each in known)
        while not self.server.over.is_set():
            with objects.changed:
                objects.changed.wait_for(lambda: len(objects.events) > since, LOOK)  # noqa: B023 - called at once
                new = objects.events[since:]
                since += len(new)
            yield from (event for name, event in new if is_in(name, path, event["object"], *selectors))


def now() -> str:
    """This moment as Kubernetes writes it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class ApiServer(ThreadingHTTPServer):
    """A context manager with a port that the system gives.

    Attributes:
        objects: What it keeps.
        requests: Each object as it was made.
        over: Set when it ends.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.objects = Objects()
        self.requests: list[Json] = []
        self.over = threading.Event()

    def delete(self, path: str, grace: int) -> None:
        """Forget an object, or tell a pod's kubelet to end it within some seconds."""
        if path.startswith(PODS):
            told = {"deletionTimestamp": now(), "deletionGracePeriodSeconds": grace}
            self.objects.merge(path, {"metadata": told})
        else:
            self.objects.remove(path)

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, name="api-server", daemon=True).start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.over.set()
        self.shutdown()
        self.server_close()

"""The operations of the HTTP interface: what each takes, does and answers; no word of HTTP's own machinery."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import attrs

from headworks.documents import loads
from headworks.errors import DocumentError, known_names
from headworks_manager.database.history import Author
from headworks_manager.database.store import Store
from headworks_manager.plain import Entry, Outcome, Registered, entry, outcome, registered
from headworks_manager.rules.indication import HOLD, LARGEST, Trigger
from headworks_manager.rules.refusals import StaleError

if TYPE_CHECKING:
    from headworks_manager.rules.indication import Indication

PAGE = 100
"""Entries of a page, if the caller says nothing."""
LONGEST_PAGE = 1000


@attrs.frozen(kw_only=True)
class Setting:
    """Values of a topology's indication; null leaves what the topology declares itself.

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
    hold: float = HOLD / 1000
    aging: float | None = None
    why: str = ""


@attrs.frozen(kw_only=True)
class Topologies:
    """A page of topologies, by name; `next` is the `after` of the next page."""

    items: tuple[Registered, ...]
    next: str | None


@attrs.frozen(kw_only=True)
class Entries:
    """A page of the history, the newest first; `next` is the `before` of the next page."""

    items: tuple[Entry, ...]
    next: str | None


@attrs.frozen(kw_only=True)
class Problem:
    """What is wrong (RFC 9457); `pointer` names the part of the document, of the path or of the query."""

    title: str
    status: int
    detail: str
    pointer: str


@attrs.frozen(kw_only=True)
class Call:
    """A request: the names in its path, its query, its body, its preconditions, and who makes it."""

    path: Mapping[str, str]
    query: Mapping[str, str]
    body: bytes
    match: str | None
    none_match: str | None
    author: Author

    def number(self, key: str, default: int | None, largest: int) -> int | None:
        """A whole number of the query, from 1.

        Raises:
            DocumentError: It is none.
        """
        text = self.query.get(key)
        if text is None:
            return default
        if not (text.isdecimal() and text.isascii() and 1 <= int(text[:20]) <= largest):
            raise DocumentError(f"/{key}", f"{text[:60]!a} is not a whole number from 1 to {largest}")
        return int(text)

    def truth(self, key: str) -> bool:
        """A truth value of the query, false if it is not there.

        Raises:
            DocumentError: It is none.
        """
        text = self.query.get(key, "false")
        if text not in ("true", "false"):
            raise DocumentError(f"/{key}", f"{text[:60]!a} is neither true nor false")
        return text == "true"

    def check(self, before: Indication | None) -> None:
        """Check the preconditions of a change.

        Raises:
            StaleError: It is not what the caller has seen.
        """
        now = "" if before is None else etag(before)
        if self.match is not None and (not now or self.match not in ("*", now)):
            raise StaleError("", "another one has changed it since, or there is none: read it again")
        if self.none_match is not None and now and self.none_match in ("*", now):
            raise StaleError("", "there is one already")


@attrs.frozen(kw_only=True)
class Answer:
    """What is answered: a status with a value, or none; what the log is told of a change."""

    status: int = 200
    value: Any = None
    etag: str = ""
    told: Any = None


@attrs.frozen(kw_only=True)
class Operation:
    """An operation.

    Attributes:
        method: Of HTTP.
        path: With names in braces.
        act: Does it; its docstring is the summary.
        takes: Class of the document in the body.
        gives: Class of the answer; None if that is empty.
        created: Whether it may make something.
        query: Keys of the query that it knows (`QUERY`).
        guarded: Whether it has preconditions.
    """

    method: str
    path: str
    act: Callable[[Store, Call], Answer]
    takes: type | None = None
    gives: type | None = None
    created: bool = False
    query: tuple[str, ...] = ()
    guarded: bool = False


def etag(indication: Indication) -> str:
    """The tag of what was set for a topology: its triggers are no change of it."""
    values = [getattr(indication, field.name) for field in attrs.fields(Setting) if field.name != "why"]
    return f'"{hashlib.sha256(json.dumps(values).encode()).hexdigest()[:32]}"'


def list_topologies(store: Store, call: Call) -> Answer:
    """List the registered topologies with priorities, nodes and triggers: which starve, since when, the remedy."""
    limit, after = call.number("limit", PAGE, LONGEST_PAGE) or PAGE, call.query.get("after", "")
    left = [each for each in registered(store) if each.name > after]
    more = left[limit - 1].name if len(left) > limit else None
    return Answer(value=Topologies(items=tuple(left[:limit]), next=more))


def show_topology(store: Store, call: Call) -> Answer:
    """Show a topology."""
    return _shown(store, call.path["name"])


def put_topology(store: Store, call: Call) -> Answer:
    """Register a topology, or replace what was set for it."""
    name, setting = call.path["name"], loads(call.body, Setting)
    fields = attrs.asdict(setting, filter=lambda field, _: field.name != "why")
    fields |= {key: _milliseconds(key, fields[key]) for key in ("hold", "aging")}
    done = store.set(name, fields, attrs.evolve(call.author, why=setting.why), check=call.check)
    status = 201 if done.verdict == "new" else 200
    return attrs.evolve(_shown(store, name), status=status, told=entry(done))


def delete_topology(store: Store, call: Call) -> Answer:
    """Forget a topology; its history stays."""
    return Answer(told=entry(store.remove(call.path["name"], call.author, check=call.check)))


def delete_source(store: Store, call: Call) -> Answer:
    """Forget a source of triggers of a topology: its next one may have any number."""
    return Answer(told=entry(store.forget(call.path["name"], call.path["source"], call.author)))


def send_trigger(store: Store, call: Call) -> Answer:
    """Send Trigger On or Trigger Off, again if no answer came; `now` does not wait for the hold."""
    done = outcome(store.trigger(loads(call.body, Trigger), call.author, at_once=call.truth("now")))
    return Answer(value=done, told=done)


def show_history(store: Store, call: Call) -> Answer:
    """Show the newest changes, of one topology or of all: when, who, why."""
    limit = call.number("limit", PAGE, LONGEST_PAGE) or PAGE
    found = store.history(call.query.get("topology"), limit=limit + 1, before=call.number("before", None, 2**62))
    more = str(found[limit - 1].number) if len(found) > limit else None
    return Answer(value=Entries(items=tuple(map(entry, found[:limit])), next=more))


def _shown(store: Store, name: str) -> Answer:
    (indication,) = store.indications(name).values()
    (value,) = registered(store, name)
    return Answer(value=value, etag=etag(indication))


def _milliseconds(key: str, seconds: float | None) -> int | None:
    if seconds is None:
        return None
    if not 0 <= seconds <= LARGEST / 1000:
        raise DocumentError(f"/{key}", f"{seconds} does not fit: give seconds from 0 to {LARGEST // 1000}")
    return round(seconds * 1000)


def check_query(operation: Operation, query: Mapping[str, str]) -> None:
    """Refuse keys that an operation does not know.

    Raises:
        DocumentError: There is one.
    """
    for key in query:
        if key not in operation.query:
            raise DocumentError(f"/{key}", f"unknown key{known_names(key, operation.query)}")


TOPOLOGY = "/v1/topologies/{name}"
OPERATIONS = (
    Operation(method="GET", path="/v1/topologies", act=list_topologies, gives=Topologies, query=("limit", "after")),
    Operation(method="GET", path=TOPOLOGY, act=show_topology, gives=Registered),
    Operation(
        method="PUT", path=TOPOLOGY, act=put_topology, takes=Setting, gives=Registered, created=True, guarded=True
    ),
    Operation(method="DELETE", path=TOPOLOGY, act=delete_topology, guarded=True),
    Operation(method="DELETE", path=TOPOLOGY + "/sources/{source}", act=delete_source),
    Operation(method="POST", path="/v1/triggers", act=send_trigger, takes=Trigger, gives=Outcome, query=("now",)),
    Operation(method="GET", path="/v1/history", act=show_history, gives=Entries, query=("topology", "limit", "before")),
)
"""All operations."""

"""The history in the database: a row for every change, with who, when and why."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs
from sqlalchemy import insert

from headworks_manager.database import tables

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from headworks_manager.rules.indication import Indication

LONGEST = 2000
"""Characters of a reason that are kept."""


@attrs.frozen(kw_only=True)
class Author:
    """Author of a change: who, and why."""

    who: str
    why: str = ""


@attrs.frozen(kw_only=True)
class Change:
    """A row of the history.

    Attributes:
        number: Grows from change to change.
        at: Time in milliseconds since 1970.
        topology: Name of the topology.
        action: `set`, `trigger`, `settle` for the end of a hold, `round` for what a round saw, or `reschedule` for a
            step of a rescheduling.
        verdict: `new` or `changed` of a `set`, `on` or `off` of a `settle`; `starves`, `runs`, `preferred` or `equal`
            of a `round`; that of the trigger; of a `reschedule`, see `rescheduling.WORDS`.
        who: Author; of a trigger, its source and who brought it.
        why: Reason in the author's words; of a trigger that changed nothing, the rule's.
        before: The indication before, as plain data; {} if there was none.
        after: The indication after.
    """

    number: int
    at: int
    topology: str
    action: str
    verdict: str
    who: str
    why: str
    before: Mapping[str, Any]
    after: Mapping[str, Any]


def record(
    connection: Connection,
    now: int,
    action: str,
    verdict: str,
    author: Author,
    before: Indication | None,
    after: Indication | None,
    topology: str = "",
) -> Change:
    """Append a row.

    Args:
        connection: The transaction of the change.
        now: Its time.
        action: See `Change`.
        verdict: See `Change`.
        author: Who, and why.
        before: The indication before; None if there was none.
        after: The indication after; None of a topology that is not registered.
        topology: Its name, if there is no indication.
    """
    row = row_of(now, action, verdict, author, before, after, topology)
    done = connection.execute(insert(tables.history).values(**row))
    key = done.inserted_primary_key
    return read_change({"number": key[0] if key is not None else 0, **row})


def row_of(
    now: int,
    action: str,
    verdict: str,
    author: Author,
    before: Indication | None,
    after: Indication | None,
    topology: str = "",
) -> dict[str, Any]:
    """A row without its number, as `record` appends it.

    Args:
        now: Time of the change.
        action: See `Change`.
        verdict: See `Change`.
        author: Who, and why.
        before: The indication before; None if there was none.
        after: The indication after; None of a topology that is not registered.
        topology: Its name, if there is no indication.
    """
    return {
        "at": now,
        "topology": topology if after is None else after.name,
        "action": action,
        "verdict": verdict,
        "who": _one_line(author.who[:200]),
        "why": _one_line(author.why[:LONGEST]),
        "before": json.dumps(attrs.asdict(before) if before is not None else {}),
        "after": json.dumps(attrs.asdict(after) if after is not None else {}),
    }


def _one_line(text: str) -> str:
    return "".join(each if each.isprintable() else " " for each in text)


def record_all(connection: Connection, rows: Sequence[dict[str, Any]]) -> None:
    """Append rows of `row_of` in their order."""
    if rows:
        connection.execute(insert(tables.history), rows)


def read_change(row: dict[str, Any]) -> Change:
    """A row of the table as a value."""
    return Change(**{**row, "before": json.loads(row["before"]), "after": json.loads(row["after"])})

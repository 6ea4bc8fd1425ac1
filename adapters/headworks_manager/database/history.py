"""The history in the database: a row for every change, with who, when and why."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs
from sqlalchemy import delete, insert, select, update

from headworks_manager.database import tables
from headworks_manager.rules.indication import IDLE

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
        until: Time of the last one, where the same was said again and again.
        times: How often it was said.
        topology: Name of the topology.
        action: `set`, `remove`, `trigger`, `settle` for the end of a hold, `round` for what a round saw, or
            `reschedule` for a step of a rescheduling.
        verdict: `new` or `changed` of a `set`; `removed` or, of a source, `forgotten` of a `remove`; `on` or `off` of a
            `settle`; `starves`, `runs`, `preferred` or `equal` of a `round`; that of the trigger; of a `reschedule`,
            see `rescheduling.WORDS`.
        source: Of a trigger, "" of all else.
        who: Author; of a trigger, its source and who brought it.
        why: Reason in the author's words; of a trigger that changed nothing, the rule's.
        before: The indication before, as plain data; {} if there was none.
        after: The indication after.
    """

    number: int
    at: int
    until: int
    times: int
    topology: str
    action: str
    verdict: str
    source: str
    who: str
    why: str
    before: Mapping[str, Any]
    after: Mapping[str, Any]


def record(connection: Connection, cluster: str, row: dict[str, Any]) -> Change:
    """Append a row of `row_of`.

    Args:
        connection: The transaction of the change.
        cluster: Name of the cluster.
        row: The row.
    """
    done = connection.execute(insert(tables.history).values(cluster=cluster, **row))
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
    """A row without its number and cluster.

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
        "until": now,
        "times": 1,
        "topology": topology if after is None else after.name,
        "action": action,
        "verdict": verdict,
        "source": "",
        "who": _one_line(author.who[:200]),
        "why": _one_line(author.why[:LONGEST]),
        "before": json.dumps(attrs.asdict(before) if before is not None else {}),
        "after": json.dumps(attrs.asdict(after) if after is not None else {}),
    }


def _one_line(text: str) -> str:
    return "".join(each if each.isprintable() else " " for each in text)


def record_all(connection: Connection, cluster: str, rows: Sequence[dict[str, Any]]) -> None:
    """Append rows in their order; where a source says again what changes nothing, its last row counts it.

    Args:
        connection: The transaction of the changes.
        cluster: Name of the cluster.
        rows: Rows of `row_of`.
    """
    said: dict[tuple[str, str], dict[str, Any]] = {}
    new, counted = [], {}
    for row in rows:
        key, idle = (row["topology"], row["source"]), row["verdict"] in IDLE
        last = (said.get(key) or _said_last(connection, cluster, *key)) if idle else None
        if last is not None and (last["verdict"], last["after"]) == (row["verdict"], row["after"]):
            last.update(times=last["times"] + 1, until=row["at"], who=row["who"], why=row["why"])
            said[key] = last
            if "number" in last:
                counted[last["number"]] = {name: last[name] for name in ("times", "until", "who", "why")}
        else:
            said[key] = {"cluster": cluster, **row}
            new.append(said[key])
    for number, values in counted.items():
        connection.execute(update(tables.history).where(tables.history.c.number == number).values(**values))
    if new:
        connection.execute(insert(tables.history), new)


def _said_last(connection: Connection, cluster: str, topology: str, source: str) -> dict[str, Any] | None:
    """The newest row of a source of triggers."""
    own = tables.history
    theirs = (own.c.cluster == cluster) & (own.c.topology == topology) & (own.c.source == source)
    row = connection.execute(select(own).where(theirs).order_by(own.c.number.desc()).limit(1)).mappings().one_or_none()
    return None if row is None else dict(row)


def prune(connection: Connection, cluster: str, keep: int) -> int:
    """Forget the oldest changes of a cluster, so that `keep` are left; tells how many were forgotten."""
    own = tables.history
    here = own.c.cluster == cluster
    last = select(own.c.number).where(here).order_by(own.c.number.desc()).offset(keep).limit(1)
    return connection.execute(delete(own).where(here & (own.c.number <= last.scalar_subquery()))).rowcount


def read_change(row: dict[str, Any]) -> Change:
    """A row of the table as a value."""
    row = {key: value for key, value in row.items() if key != "cluster"}
    return Change(**{**row, "before": json.loads(row["before"]), "after": json.loads(row["after"])})

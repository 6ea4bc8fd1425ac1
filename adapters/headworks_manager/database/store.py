"""Indications in the database: every change is one transaction, with a row of the history."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import attrs
from sqlalchemy import delete, insert, select, update

from headworks_manager.database import tables
from headworks_manager.database.connection import repeated, transaction
from headworks_manager.database.history import Author, Change, read_change, record, record_all
from headworks_manager.database.ledger import Ledger, Sent, settled_row, unknown
from headworks_manager.rules.indication import (
    Indication,
    Merged,
    Trigger,
    check_indication,
    check_name,
    check_trigger,
    settled,
)
from headworks_manager.rules.starving import Seen, look, remedies

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sqlalchemy import Connection, Engine

    from headworks_manager.rules.starving import Claim


def wall_clock() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


class Store:
    """Indications, triggers and their history in a database; every method may be called by any thread and process."""

    def __init__(self, engine: Engine, clock: Callable[[], int] = wall_clock) -> None:
        """Take a database that is open.

        Args:
            engine: The database, of this version (`database.opened`).
            clock: Milliseconds since 1970.
        """
        self._engine = engine
        self._clock = clock

    @property
    def engine(self) -> Engine:
        """The database."""
        return self._engine

    def indications(self) -> dict[str, Indication]:
        """The indications in effect now, by name, sorted."""
        now = self._clock()
        with transaction(self._reading()) as connection:
            rows = connection.execute(select(tables.topologies).order_by(tables.topologies.c.name)).mappings().all()
        return {row["name"]: settled(Indication(**row), now) for row in rows}

    def history(self, topology: str | None = None, *, limit: int = 20) -> list[Change]:
        """The newest changes, the newest first.

        Args:
            topology: Of this one alone.
            limit: Number of changes at most.

        Raises:
            DocumentError: There is no such topology.
            EngineError: The database does not answer.
        """
        rows = select(tables.history).order_by(tables.history.c.number.desc()).limit(limit)
        with transaction(self._reading()) as connection:
            if topology is not None:
                check_name(topology, "/topology")
                self._known(connection, topology, lock=False)
                rows = rows.where(tables.history.c.topology == topology)
            found = connection.execute(rows).mappings().all()
        return [read_change(dict(row)) for row in found]

    def set(self, name: str, fields: Mapping[str, Any], author: Author) -> Change:
        """Register a topology, or change fields of its indication.

        Args:
            name: Name of the topology.
            fields: New values, by the names of `Indication`.
            author: Who, and why.

        Raises:
            DocumentError: A value does not fit.
            EngineError: The database does not answer.
        """

        def change(connection: Connection) -> Change:
            now = self._clock()
            check_name(name, "/name")
            before = self._find(connection, name)
            current = self._settle(connection, before, now) if before is not None else None
            after = attrs.evolve(current, **fields) if current is not None else Indication(name=name, **fields)
            check_indication(after, connection.execute(select(tables.cluster.c.nodes)).scalar_one_or_none())
            if before is None:
                connection.execute(insert(tables.topologies).values(**attrs.asdict(after)))
            else:
                _write(connection, after)
            return record(connection, now, "set", "new" if before is None else "changed", author, current, after)

        return repeated(self._engine, change)

    def trigger(self, trigger: Trigger, author: Author, *, at_once: bool = False) -> Merged:
        """Merge a trigger into the indication of its topology, and record it whatever becomes of it.

        Args:
            trigger: The trigger.
            author: Who brought it, and why.
            at_once: Do not wait for the hold.

        Raises:
            DocumentError: There is no such topology, or the trigger is none.
            EngineError: The database does not answer.
        """
        check_trigger(trigger)
        sent = Sent(trigger=trigger, author=author, at_once=at_once)

        def change(connection: Connection) -> Merged:
            ledger = Ledger(connection, [sent])
            made = ledger.merge(sent, self._clock())
            ledger.write()
            return made

        return repeated(self._engine, change)

    def seen(self) -> dict[str, Seen]:
        """Topologies as the last round saw them, by name."""
        with transaction(self._reading()) as connection:
            return _seen(connection)

    def look(self, claims: Sequence[Claim], aging: Mapping[str, int | None], nodes: int) -> dict[str, Seen]:
        """Keep what a round saw: who starves, since when; the history says when that begins and ends.

        Nothing is written where nothing changed, so a round costs a look.

        Args:
            claims: Claims of the topologies that a round saw.
            aging: Milliseconds that a topology may starve, by name.
            nodes: Nodes of the cluster.

        Raises:
            EngineError: The database does not answer.
        """
        now, said = self._clock(), remedies(claims, nodes)

        def after(before: Mapping[str, Seen]) -> dict[str, Seen]:
            return {
                each.name: look(
                    before.get(each.name), each, aging=aging.get(each.name), now=now, remedy=said.get(each.name, "")
                )
                for each in claims
            }

        def change(connection: Connection) -> dict[str, Seen]:
            before = _seen(connection)
            made = after(before)
            _replace(connection, before, made)
            for each in made.values():
                self._tell(connection, before.get(each.name), each, now)
            size = tables.cluster
            connection.execute(delete(size))
            connection.execute(insert(size).values(id=1, nodes=nodes, at=now))
            return made

        with transaction(self._reading()) as connection:
            known, size = _seen(connection), connection.execute(select(tables.cluster.c.nodes)).scalar_one_or_none()
        return known if after(known) == known and size == nodes else repeated(self._engine, change)

    def _tell(self, connection: Connection, before: Seen | None, after: Seen, now: int) -> None:
        """Write into the history where starving and aging begin and end, of a topology that is registered."""
        words = _changes_of(before, after, now)
        found = self._find(connection, after.name) if words else None
        if found is None:
            return
        for verdict, why in words:
            record(connection, now, "round", verdict, Author(who="manager", why=why), found, found)

    def _reading(self) -> Engine:
        return self._engine.execution_options(headworks_reads=True)

    def _find(self, connection: Connection, name: str, *, lock: bool = True) -> Indication | None:
        rows = select(tables.topologies).where(tables.topologies.c.name == name)
        row = connection.execute(rows.with_for_update() if lock else rows).mappings().one_or_none()
        return None if row is None else Indication(**row)

    def _known(self, connection: Connection, name: str, *, lock: bool = True) -> Indication:
        found = self._find(connection, name, lock=lock)
        if found is None:
            raise unknown(name, list(connection.execute(select(tables.topologies.c.name)).scalars()))
        return found

    def _settle(self, connection: Connection, before: Indication, now: int) -> Indication:
        """The indication now; a hold that ended since is recorded with the time of its end."""
        after = settled(before, now)
        if after != before:
            _write(connection, after)
            record_all(connection, [settled_row(before, after, now)])
        return after


def _write(connection: Connection, indication: Indication) -> None:
    rows = update(tables.topologies).where(tables.topologies.c.name == indication.name)
    connection.execute(rows.values(**attrs.asdict(indication)))


def _seen(connection: Connection) -> dict[str, Seen]:
    return {row["name"]: Seen(**row) for row in connection.execute(select(tables.seen)).mappings()}


def _replace(connection: Connection, before: Mapping[str, Seen], after: Mapping[str, Seen]) -> None:
    gone = [name for name, each in before.items() if after.get(name) != each]
    if gone:
        connection.execute(delete(tables.seen).where(tables.seen.c.name.in_(gone)))
    if made := [attrs.asdict(each) for name, each in after.items() if before.get(name) != each]:
        connection.execute(insert(tables.seen), made)


def _changes_of(before: Seen | None, after: Seen, now: int) -> list[tuple[str, str]]:
    """Verdicts and reasons of what began and ended between two rounds."""
    starved, boosted = (before.starving, before.boosted) if before is not None else (None, None)
    words = []
    if after.starving is not None and starved is None:
        words.append(("starves", f"it has no node; what it would take: {after.remedy}"))
    if after.starving is None and starved is not None:
        words.append(("runs", f"on {after.nodes} nodes, after {(now - starved) / 1000:.0f} s without any"))
    if after.boosted is not None and boosted is None:
        words.append(("preferred", "it starved for as long as its aging allows: it comes before all others"))
    if after.boosted is None and boosted is not None:
        words.append(("equal", "it has had nodes for as long as its aging says"))
    return words

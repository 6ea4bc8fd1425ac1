"""Indications in the database: every change is one transaction, with a row of the history."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import attrs
from sqlalchemy import delete, insert, select, update

from headworks.errors import known_names
from headworks_manager.database import tables
from headworks_manager.database.connection import CLUSTER, repeated, transaction
from headworks_manager.database.history import Author, Change, prune, read_change, record, record_all, row_of
from headworks_manager.database.ledger import Ledger, Sent, indication_of, names, own_row, settled_row, unknown
from headworks_manager.rules.indication import (
    Indication,
    Merged,
    Trigger,
    check_indication,
    check_name,
    check_trigger,
    settled,
)
from headworks_manager.rules.refusals import UnknownError
from headworks_manager.rules.starving import Seen, look, remedies

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sqlalchemy import Connection, Engine

    from headworks_manager.rules.starving import Claim


def wall_clock() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def _any(_before: Indication | None) -> None:
    """The check of whom it may be as it is."""


class Store:
    """Indications, triggers and their history of one cluster; every method may be called by any thread and process.

    Attributes:
        cluster: Name of the cluster, whose rows are the only ones that it touches.
    """

    def __init__(self, engine: Engine, clock: Callable[[], int] = wall_clock, *, cluster: str = CLUSTER) -> None:
        """Take a database that is open.

        Args:
            engine: The database, of this version (`database.opened`).
            clock: Milliseconds since 1970.
            cluster: Name of the cluster.
        """
        self._engine = engine
        self._clock = clock
        self.cluster = cluster

    @property
    def engine(self) -> Engine:
        """The database."""
        return self._engine

    def indications(self, name: str | None = None) -> dict[str, Indication]:
        """The indications in effect now, by name, sorted; or one alone.

        Raises:
            UnknownError: There is none of that name.
        """
        now, own = self._clock(), tables.topologies
        with transaction(self._reading()) as connection:
            if name is not None:
                check_name(name, "/name")
                return {name: settled(self._known(connection, name, lock=False), now)}
            rows = connection.execute(select(own).where(own.c.cluster == self.cluster).order_by(own.c.name)).mappings()
            return {row["name"]: settled(indication_of(row), now) for row in rows}

    def history(self, topology: str | None = None, *, limit: int = 20, before: int | None = None) -> list[Change]:
        """The newest changes, the newest first.

        Args:
            topology: Of this one alone; it may have been removed.
            limit: Number of changes at most.
            before: Those with a smaller number alone.

        Raises:
            UnknownError: There is no such topology, and none was.
            EngineError: The database does not answer.
        """
        own = tables.history
        rows = select(own).where(own.c.cluster == self.cluster).order_by(own.c.number.desc()).limit(limit)
        if before is not None:
            rows = rows.where(own.c.number < before)
        with transaction(self._reading()) as connection:
            if topology is not None:
                check_name(topology, "/topology")
                rows = rows.where(own.c.topology == topology)
            found = connection.execute(rows).mappings().all()
            if topology is not None and not found and before is None:
                self._known(connection, topology, lock=False)
        return [read_change(dict(row)) for row in found]

    def prune(self, keep: int) -> int:
        """Forget the oldest changes, so that `keep` are left; tells how many were forgotten.

        Raises:
            EngineError: The database does not answer.
        """
        with transaction(self._engine) as connection:
            return prune(connection, self.cluster, keep)

    def set(
        self, name: str, fields: Mapping[str, Any], author: Author, *, check: Callable[[Indication | None], None] = _any
    ) -> Change:
        """Register a topology, or change fields of its indication.

        Args:
            name: Name of the topology.
            fields: New values, by the names of `Indication`.
            author: Who, and why.
            check: Is given the indication before, in the transaction of the change; what it raises undoes that.

        Raises:
            DocumentError: A value does not fit.
            EngineError: The database does not answer.
        """

        def change(connection: Connection) -> Change:
            now = self._clock()
            check_name(name, "/name")
            before = self._find(connection, name)
            check(before)
            current = self._settle(connection, before, now) if before is not None else None
            after = attrs.evolve(current, **fields) if current is not None else Indication(name=name, **fields)
            check_indication(after, self._nodes(connection))
            if before is None:
                connection.execute(insert(tables.topologies).values(cluster=self.cluster, **attrs.asdict(after)))
            else:
                self._write(connection, after)
            verdict = "new" if before is None else "changed"
            return record(connection, self.cluster, row_of(now, "set", verdict, author, current, after))

        return repeated(self._engine, change)

    def remove(self, name: str, author: Author, *, check: Callable[[Indication | None], None] = _any) -> Change:
        """Forget a topology and the sources of its triggers; its history stays.

        Args:
            name: Name of the topology.
            author: Who, and why.
            check: See `set`.

        Raises:
            UnknownError: There is no such topology.
            EngineError: The database does not answer.
        """

        def change(connection: Connection) -> Change:
            now = self._clock()
            check_name(name, "/name")
            found = self._known(connection, name)
            check(found)
            before = self._settle(connection, found, now)
            connection.execute(delete(tables.topologies).where(own_row(self.cluster, name)))
            return record(connection, self.cluster, row_of(now, "remove", "removed", author, before, None, name))

        return repeated(self._engine, change)

    def forget(self, name: str, source: str, author: Author) -> Change:
        """Forget a source of triggers: its next one may have any number.

        Args:
            name: Name of the topology.
            source: The source.
            author: Who, and why.

        Raises:
            UnknownError: There is no such topology, or it has no such source.
            EngineError: The database does not answer.
        """
        own = tables.sources.c

        def change(connection: Connection) -> Change:
            now = self._clock()
            check_name(name, "/name")
            check_name(source, "/source")
            before = self._settle(connection, self._known(connection, name), now)
            theirs = (own.cluster == self.cluster) & (own.topology == name)
            if not connection.execute(delete(tables.sources).where(theirs & (own.source == source))).rowcount:
                known = known_names(source, connection.execute(select(own.source).where(theirs)).scalars())
                raise UnknownError("/source", f"{source} has sent no trigger of {name}{known}")
            said = attrs.evolve(author, why=": ".join(filter(None, (f"the source {source}", author.why))))
            return record(connection, self.cluster, row_of(now, "remove", "forgotten", said, before, before))

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
            ledger = Ledger(connection, self.cluster, [sent])
            made = ledger.merge(sent, self._clock())
            ledger.write()
            return made

        return repeated(self._engine, change)

    def seen(self) -> dict[str, Seen]:
        """Topologies as the last round saw them, by name."""
        with transaction(self._reading()) as connection:
            return self._seen(connection)

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
            before = self._seen(connection)
            made = after(before)
            self._replace(connection, before, made)
            for each in made.values():
                self._tell(connection, before.get(each.name), each, now)
            size = tables.clusters
            connection.execute(delete(size).where(size.c.cluster == self.cluster))
            connection.execute(insert(size).values(cluster=self.cluster, nodes=nodes, at=now))
            return made

        with transaction(self._reading()) as connection:
            known, size = self._seen(connection), self._nodes(connection)
        return known if after(known) == known and size == nodes else repeated(self._engine, change)

    def _tell(self, connection: Connection, before: Seen | None, after: Seen, now: int) -> None:
        """Write into the history where starving and aging begin and end, of a topology that is registered."""
        words = _changes_of(before, after, now)
        found = self._find(connection, after.name) if words else None
        if found is None:
            return
        for verdict, why in words:
            author = Author(who="manager", why=why)
            record(connection, self.cluster, row_of(now, "round", verdict, author, found, found))

    def _reading(self) -> Engine:
        return self._engine.execution_options(headworks_reads=True)

    def _find(self, connection: Connection, name: str, *, lock: bool = True) -> Indication | None:
        rows = select(tables.topologies).where(own_row(self.cluster, name))
        row = connection.execute(rows.with_for_update() if lock else rows).mappings().one_or_none()
        return None if row is None else indication_of(row)

    def _known(self, connection: Connection, name: str, *, lock: bool = True) -> Indication:
        found = self._find(connection, name, lock=lock)
        if found is None:
            raise unknown(name, names(connection, self.cluster))
        return found

    def _settle(self, connection: Connection, before: Indication, now: int) -> Indication:
        """The indication now; a hold that ended since is recorded with the time of its end."""
        after = settled(before, now)
        if after != before:
            self._write(connection, after)
            record_all(connection, self.cluster, [settled_row(before, after, now)])
        return after

    def _write(self, connection: Connection, indication: Indication) -> None:
        rows = update(tables.topologies).where(own_row(self.cluster, indication.name))
        connection.execute(rows.values(**attrs.asdict(indication)))

    def _nodes(self, connection: Connection) -> int | None:
        """Nodes of the cluster when it was seen last."""
        own = tables.clusters.c
        return connection.execute(select(own.nodes).where(own.cluster == self.cluster)).scalar_one_or_none()

    def _seen(self, connection: Connection) -> dict[str, Seen]:
        own = tables.seen.c
        columns = [own[field.name] for field in attrs.fields(Seen)]
        rows = connection.execute(select(*columns).where(own.cluster == self.cluster)).mappings()
        return {row["name"]: Seen(**row) for row in rows}

    def _replace(self, connection: Connection, before: Mapping[str, Seen], after: Mapping[str, Seen]) -> None:
        own = tables.seen
        if gone := [name for name, each in before.items() if after.get(name) != each]:
            connection.execute(delete(own).where((own.c.cluster == self.cluster) & own.c.name.in_(gone)))
        if made := [each for name, each in after.items() if before.get(name) != each]:
            connection.execute(insert(own), [{"cluster": self.cluster, **attrs.asdict(each)} for each in made])


def _of(seen: Seen) -> str:
    return f"{seen.nodes} of the {seen.minimum} nodes that it must have"


def _changes_of(before: Seen | None, after: Seen, now: int) -> list[tuple[str, str]]:
    """Verdicts and reasons of what began and ended between two rounds."""
    starved, boosted = (before.starving, before.boosted) if before is not None else (None, None)
    words = []
    if after.starving is not None and starved is None:
        words.append(("starves", f"it has {_of(after)}; the remedy: {after.remedy}"))
    if after.starving is None and starved is not None:
        words.append(("runs", f"on {_of(after)}, after {(now - starved) / 1000:.0f} s"))
    if after.boosted is not None and boosted is None:
        words.append(("preferred", "it starved for as long as its aging allows: it comes before all others"))
    if after.boosted is None and boosted is not None:
        words.append(("equal", "it has had its minimum of nodes for as long as its aging says"))
    return words

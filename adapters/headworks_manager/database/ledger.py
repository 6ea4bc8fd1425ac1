"""Triggers merged in one transaction: their topologies are read once, with locks, and written once."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import attrs
from sqlalchemy import and_, bindparam, insert, select, tuple_, update

from headworks.errors import known_names
from headworks_manager.database import tables
from headworks_manager.database.history import Author, record_all, row_of
from headworks_manager.rules.indication import (
    CHANGING,
    Indication,
    Merged,
    Trigger,
    merge,
    moment,
    next_sequence,
    settled,
)
from headworks_manager.rules.refusals import UnknownError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Connection, RowMapping


@attrs.frozen(kw_only=True)
class Sent:
    """A trigger, who brought it and why, and whether it counts at once, without waiting for the hold."""

    trigger: Trigger
    author: Author
    at_once: bool = False

    @property
    def source(self) -> tuple[str, str]:
        """Topology and source, to which its sequence number belongs."""
        return self.trigger.topology, self.trigger.source


class Ledger:
    """The topologies that some triggers name, within a transaction; nothing is written before `write`."""

    def __init__(self, connection: Connection, cluster: str, sent: Sequence[Sent]) -> None:
        """Read and lock the topologies.

        Args:
            connection: The transaction.
            cluster: Name of the cluster.
            sent: The triggers that it will merge, in their order.
        """
        self._connection, self._cluster = connection, cluster
        self._left = Counter(each.trigger.topology for each in sent)
        self._found = _indications(connection, cluster, {*self._left})
        self._stored = _sequences(connection, cluster, {each.source for each in sent})
        self._last = dict(self._stored)
        self._changed: set[str] = set()
        self._rows: list[dict[str, Any]] = []
        self._names: list[str] | None = None

    def merge(self, sent: Sent, now: int) -> Merged:
        """Merge a trigger into the indication of its topology; the history will have it whatever becomes of it.

        Raises:
            DocumentError: There is no such topology.
        """
        trigger = sent.trigger
        self._left[trigger.topology] -= 1
        at = moment(trigger, self._of(trigger.topology), now, more=self._left[trigger.topology] > 0)
        before = self._settle(trigger.topology, at)
        last = self._last.get(sent.source)
        made = merge(before, trigger, last=last, now=at, at_once=sent.at_once)
        if made.verdict in CHANGING:
            self._keep(made.indication)
            self._last[sent.source] = next_sequence(trigger, last)
        who = sent.author.who if trigger.source == sent.author.who else f"{trigger.source} by {sent.author.who}"
        said = Author(who=who, why=sent.author.why or trigger.why or made.message)
        row = row_of(now, "trigger", made.verdict, said, before, made.indication)
        self._rows.append({**row, "source": trigger.source})
        return attrs.evolve(made, indication=settled(made.indication, now))

    def write(self) -> None:
        """Write the topologies and sequence numbers that changed, and the rows of the history."""
        if changed := [self._found[name] for name in sorted(self._changed)]:
            rows = update(tables.topologies).where(own_row(self._cluster, bindparam("own")))
            self._connection.execute(rows, [{"own": each.name, **attrs.asdict(each)} for each in changed])
        _count(self._connection, self._cluster, self._stored, self._last)
        record_all(self._connection, self._cluster, self._rows)

    def _settle(self, name: str, now: int) -> Indication:
        """The indication now; a hold that ended since is recorded with the time of its end."""
        before = self._of(name)
        after = settled(before, now)
        if after != before:
            self._keep(after)
            self._rows.append(settled_row(before, after, now))
        return after

    def _of(self, name: str) -> Indication:
        if (found := self._found.get(name)) is None:
            raise unknown(name, self._known())
        return found

    def _keep(self, indication: Indication) -> None:
        if self._found[indication.name] != indication:
            self._found[indication.name] = indication
            self._changed.add(indication.name)

    def _known(self) -> list[str]:
        if self._names is None:
            self._names = names(self._connection, self._cluster)
        return self._names


def names(connection: Connection, cluster: str) -> list[str]:
    """Names of the topologies that are registered."""
    own = tables.topologies.c
    return list(connection.execute(select(own.name).where(own.cluster == cluster)).scalars())


def own_row(cluster: str, name: Any) -> ColumnElement[bool]:
    """The condition for the row of a topology."""
    own = tables.topologies.c
    return and_(own.cluster == cluster, own.name == name)


def indication_of(row: RowMapping) -> Indication:
    """The indication of a row."""
    return Indication(**{key: value for key, value in row.items() if key != "cluster"})


def settled_row(before: Indication, after: Indication, now: int) -> dict[str, Any]:
    """The row of the history for a hold that ended.

    Args:
        before: The indication with what waited.
        after: The indication with what is in effect now.
        now: The time, if the hold's end is not known.
    """
    author = Author(who="manager", why=f"the hold of {before.hold / 1000:g} s was over")
    return row_of(after.changed or now, "settle", "on" if after.active else "off", author, before, after)


def unknown(name: str, names: Sequence[str]) -> UnknownError:
    """The error for a topology that is not registered."""
    known = known_names(name, names)
    return UnknownError(
        "/topology", f"no topology {name} is registered{known}; `headworks priority set {name}` registers it"
    )


def _indications(connection: Connection, cluster: str, names: set[str]) -> dict[str, Indication]:
    """Indications by name, locked in the order of names: two managers never wait for each other."""
    own = tables.topologies.c
    theirs = (own.cluster == cluster) & own.name.in_(sorted(names))
    rows = connection.execute(select(tables.topologies).where(theirs).order_by(own.name).with_for_update())
    return {row["name"]: indication_of(row) for row in rows.mappings()}


def _sequences(connection: Connection, cluster: str, sources: set[tuple[str, str]]) -> dict[tuple[str, str], int]:
    own = tables.sources
    theirs = tuple_(own.c.topology, own.c.source).in_(sorted(sources))
    rows = select(own).where((own.c.cluster == cluster) & theirs)
    return {(row.topology, row.source): row.sequence for row in connection.execute(rows)}


def _count(
    connection: Connection, cluster: str, stored: dict[tuple[str, str], int], last: dict[tuple[str, str], int]
) -> None:
    """Write the sequence numbers that differ from what is stored."""
    own = tables.sources
    changed = {key: number for key, number in sorted(last.items()) if stored.get(key) != number}
    if made := [_row(cluster, key, number) for key, number in changed.items() if key not in stored]:
        connection.execute(insert(own), made)
    if counted := [{"of": key[0], "by": key[1], "now": number} for key, number in changed.items() if key in stored]:
        here = (own.c.cluster == cluster) & (own.c.topology == bindparam("of")) & (own.c.source == bindparam("by"))
        connection.execute(update(own).where(here).values(sequence=bindparam("now")), counted)


def _row(cluster: str, key: tuple[str, str], number: int) -> dict[str, Any]:
    return {"cluster": cluster, "topology": key[0], "source": key[1], "sequence": number}

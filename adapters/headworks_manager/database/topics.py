"""Kafka topics in the database: what was taken from them, in the transaction of the changes that it made."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
from sqlalchemy import delete, func, insert, select, update

from headworks.errors import DocumentError, EngineError
from headworks_manager.database import tables
from headworks_manager.database.connection import CLUSTER, repeated, transaction
from headworks_manager.database.ledger import Ledger, Sent
from headworks_manager.database.store import wall_clock

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from sqlalchemy import ColumnElement, Connection, Engine, Select, Update

    from headworks_manager.rules.indication import Merged

KEPT = 60_000
"""Bytes of a message that is no trigger that are kept."""


@attrs.frozen
class Partition:
    """A partition of a Kafka topic, by the topic's UUID: one that is made again under the same name is another one."""

    topic: str
    number: int


@attrs.frozen(kw_only=True)
class Letter:
    """A message that is no trigger, with the reason.

    Attributes:
        partition: Where it came from.
        offset: Its offset there.
        content: The first `KEPT` bytes of its value.
        size: Bytes of its value.
        error: Why it is not a trigger.
        pointer: JSON pointer to the part that does not fit.
        number: Its number in the database, 0 before it is there.
    """

    partition: Partition
    offset: int
    content: bytes
    size: int
    error: str
    pointer: str
    number: int = 0


@attrs.frozen(kw_only=True)
class Message:
    """A message of a topic: its offset, its value, and what that says, a trigger or why it is none."""

    offset: int
    value: bytes
    meant: Sent | DocumentError


Outcome = tuple[Message, "Merged | Letter"]
"""A message that was taken, and what became of it."""


class Topics:
    """Offsets, and letters that wait for the dead-letter topic; every method may be called by any thread and process.

    Two managers that take from one topic do no harm: who comes second finds that a message was taken.
    """

    def __init__(self, engine: Engine, clock: Callable[[], int] = wall_clock, *, cluster: str = CLUSTER) -> None:
        """Take a database that is open.

        Args:
            engine: The database, of this version (`database.opened`).
            clock: Milliseconds since 1970.
            cluster: Name of the cluster whose triggers these are.
        """
        self._engine, self._clock, self._cluster = engine, clock, cluster

    def following(self, partition: Partition) -> int | None:
        """Offset of the message after those that were taken, None if none ever was."""
        with transaction(self._engine.execution_options(headworks_reads=True)) as connection:
            found: int | None = connection.scalar(self._following(partition))
        return found

    def correct(self, partition: Partition, end: int) -> None:
        """Go back to the end of a partition that lost messages: new ones would be taken for old ones.

        Args:
            partition: The partition.
            end: Offset of the message that it will have next.
        """
        with transaction(self._engine) as connection:
            connection.execute(self._advance(partition, end))

    def take(self, partition: Partition, messages: Sequence[Message]) -> list[Outcome]:
        """Merge the triggers of messages and move on behind them; those taken before are left out.

        All are one transaction. If one of them spoils it, each is one of its own, and that one becomes a letter.

        Args:
            partition: Where they came from.
            messages: The messages, by offset.

        Raises:
            EngineError: The database does not answer; those not taken will be when they come again.
        """
        try:
            return self._take(partition, messages)
        except EngineError:
            raise
        except Exception:  # noqa: BLE001 - whatever a message brings about, those after it are taken
            return [outcome for each in messages for outcome in self._take_one(partition, each)]

    def _take_one(self, partition: Partition, message: Message) -> list[Outcome]:
        try:
            return self._take(partition, [message])
        except EngineError:
            raise
        except Exception as error:  # noqa: BLE001 - see above
            spoilt = DocumentError("", f"it cannot be taken: {error or type(error).__name__}")
            return self._take(partition, [attrs.evolve(message, meant=spoilt)])

    def _take(self, partition: Partition, messages: Sequence[Message]) -> list[Outcome]:
        def change(connection: Connection) -> list[Outcome]:
            stored = connection.scalar(self._following(partition).with_for_update())
            new = [each for each in messages if stored is None or each.offset >= stored]
            if not new:
                return []
            outcomes = self._merge(connection, partition, new)
            self._keep(connection, [made for _, made in outcomes if isinstance(made, Letter)])
            following = new[-1].offset + 1
            if stored is None:
                place = {"topic": partition.topic, "part": partition.number, "following": following}
                connection.execute(insert(tables.offsets).values(cluster=self._cluster, **place))
            else:
                connection.execute(self._advance(partition, following))
            return outcomes

        return repeated(self._engine, change)

    def letters(self, limit: int) -> list[Letter]:
        """Letters that wait, the oldest first."""
        own = tables.letters
        rows = select(own).where(own.c.cluster == self._cluster).order_by(own.c.number).limit(limit)
        with transaction(self._engine.execution_options(headworks_reads=True)) as connection:
            return [
                Letter(
                    partition=Partition(row.topic, row.part),
                    offset=row.place,
                    content=row.content,
                    size=row.size,
                    error=row.error,
                    pointer=row.pointer,
                    number=row.number,
                )
                for row in connection.execute(rows)
            ]

    def waiting(self) -> int:
        """Number of letters that wait."""
        with transaction(self._engine.execution_options(headworks_reads=True)) as connection:
            theirs = tables.letters.c.cluster == self._cluster
            return connection.execute(select(func.count()).select_from(tables.letters).where(theirs)).scalar_one()

    def delivered(self, letters: Sequence[Letter]) -> None:
        """Forget letters that are in the dead-letter topic."""
        with transaction(self._engine) as connection:
            own = tables.letters.c.number
            connection.execute(delete(tables.letters).where(own.in_([each.number for each in letters])))

    def _merge(self, connection: Connection, partition: Partition, messages: Sequence[Message]) -> list[Outcome]:
        ledger = Ledger(connection, self._cluster, [each.meant for each in messages if isinstance(each.meant, Sent)])
        outcomes = [(each, self._meaning(ledger, partition, each)) for each in messages]
        ledger.write()
        return outcomes

    def _meaning(self, ledger: Ledger, partition: Partition, message: Message) -> Merged | Letter:
        error = message.meant
        if isinstance(error, Sent):
            try:
                return ledger.merge(error, self._clock())
            except DocumentError as unknown:
                error = unknown
        return Letter(
            partition=partition,
            offset=message.offset,
            content=message.value[:KEPT],
            size=len(message.value),
            error=error.message,
            pointer=error.pointer,
        )

    def _following(self, partition: Partition) -> Select[Any]:
        return select(tables.offsets.c.following).where(self._here(partition))

    def _advance(self, partition: Partition, following: int) -> Update:
        return update(tables.offsets).where(self._here(partition)).values(following=following)

    def _here(self, partition: Partition) -> ColumnElement[bool]:
        own = tables.offsets.c
        return (own.cluster == self._cluster) & (own.topic == partition.topic) & (own.part == partition.number)

    def _keep(self, connection: Connection, letters: Sequence[Letter]) -> None:
        rows = [
            {
                "cluster": self._cluster,
                "topic": each.partition.topic,
                "part": each.partition.number,
                "place": each.offset,
                "content": each.content,
                "size": each.size,
                "error": each.error,
                "pointer": each.pointer,
            }
            for each in letters
        ]
        if rows:
            connection.execute(insert(tables.letters), rows)

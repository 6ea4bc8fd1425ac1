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
    try:
        # SQLAlchemy and Alembic cost 0.3 s, which the list of commands does not need.
        from headworks_manager.database.connection import opened
        from headworks_manager.database.store import Store
    except ModuleNotFoundError as error:
        raise EngineError(f"{error.name} is not installed: {how_to_install('manager')}") from None
    with opened(database) as engine:
        yield Store(engine)


class Stores:
    """Stores that stay open between calls of any thread, until the process ends."""

    def __init__(self) -> None:
        """Open nothing yet."""
        self._stores: dict[str | None, Store] = {}
        self._open = contextlib.ExitStack()
        self._lock = threading.Lock()

    def get(self, address: str | None) -> Store:
        """The store at an address; see `open_store`."""
        with self._lock:
            if address not in self._stores:
                self._stores[address] = self._open.enter_context(open_store(address))
            return self._stores[address]

    @contextlib.contextmanager
    def use(self, address: str | None) -> Iterator[Store]:
        """The store at an address; if it fails in the block, it is opened again next time, with tables if it has none.

        Args:
            address: Address or file; None is SQLite in the user's state folder.

        Raises:
            EngineError: As `open_store`.
        """
        try:
            yield self.get(address)
        except EngineError:
            with self._lock:
                self._stores.pop(address, None)
            raise

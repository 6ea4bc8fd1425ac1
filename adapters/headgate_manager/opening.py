"""Opening the manager's store, with one error where its libraries are not installed."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from headgate.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headgate_manager.store import Store


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
        from headgate_manager.database import opened
        from headgate_manager.store import Store
    except ModuleNotFoundError as error:
        raise EngineError(f"{error.name} is not installed: `pip install 'headgate[manager]'`") from None
    with opened(database) as engine:
        yield Store(engine)

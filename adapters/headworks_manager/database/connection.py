"""The manager's database: SQLite in the user's state folder by default, PostgreSQL by URL."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from alembic import command
from alembic.config import Config
from alembic.util import CommandError
from platformdirs import user_state_path
from sqlalchemy import create_engine, event, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DataError, DBAPIError, IntegrityError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from headworks.errors import DocumentError, EngineError, how_to_install
from headworks_manager.rules.indication import check_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeVar

    from sqlalchemy import URL, Connection, Engine

    T = TypeVar("T")

PATIENCE = 30
"""Seconds for a connection, and for a lock that another manager has."""
TRIES = 5
"""Tries of a change."""
CLUSTER = "default"
"""Name of the cluster, where an address names none."""
DRIVERS = {"postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg"}
"""Drivers of the databases that are named without one."""
LOCK = "SELECT pg_advisory_xact_lock(4857218)"
"""Statement of PostgreSQL that keeps a second manager from migrating until the transaction ends; in SQLite the
transaction itself does."""
CONFLICTS = ("40001", "40P01")
"""Codes of a transaction that was undone because another one was in its way, and may be tried again."""


def default_url() -> str:
    """The database in the user's state folder: on Linux ~/.local/state/headworks/manager.sqlite."""
    return f"sqlite:///{user_state_path('headworks', appauthor=False) / 'manager.sqlite'}"


@contextlib.contextmanager
def opened(url: str | None = None) -> Iterator[Engine]:
    """Open a database and bring its tables to this version.

    Args:
        url: See `engine_for`.

    Raises:
        DocumentError: The address is none.
        EngineError: The database cannot be reached, or is of a newer version of Headworks.
    """
    engine = engine_for(url)
    try:
        prepare(engine)
        yield engine
    finally:
        engine.dispose()


def engine_for(url: str | None = None) -> Engine:
    """An engine, which connects when it is first used.

    Args:
        url: Address in SQLAlchemy's form, or the path of a file for SQLite; the default database if None. It may end
            with `?cluster=NAME`, see `cluster_of`.

    Raises:
        DocumentError: The address is none.
        EngineError: A driver is missing.
    """
    address = _address(url).difference_update_query(["cluster"])
    try:
        # A file is opened in no time, and one that stays open hides from the process that it was replaced.
        pool = NullPool if address.get_backend_name() == "sqlite" else None
        engine = create_engine(address, connect_args=_arguments(address), pool_pre_ping=True, poolclass=pool)
    except ModuleNotFoundError as error:
        raise EngineError(f"{address.drivername} needs {error.name}: {how_to_install('manager')}") from None
    if address.get_backend_name() == "sqlite":
        _begin_immediate(engine)
    return engine


def cluster_of(url: str | None = None) -> str:
    """Name of the cluster in an address, which ends with `?cluster=NAME`.

    Raises:
        DocumentError: The address is none, or the name.
    """
    name = _address(url).query.get("cluster", CLUSTER)
    if not isinstance(name, str):
        raise DocumentError("", "the database's address names several clusters")
    check_name(name, "")
    return name


def prepare(engine: Engine) -> None:
    """Make the file, if the database is one, and bring its tables to this version.

    Raises:
        EngineError: The database cannot be reached, or is of a newer version of Headworks.
    """
    if engine.dialect.name == "sqlite":
        _private(engine.url)
    with transaction(engine) as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(text(LOCK))
        _migrate(connection)


@contextlib.contextmanager
def transaction(engine: Engine) -> Iterator[Connection]:
    """One transaction: committed at the end of the block, rolled back if it raises.

    Raises:
        DocumentError: A value is none that the database takes.
        EngineError: The database cannot be reached, or does not do as asked.
    """
    try:
        with engine.begin() as connection:
            yield connection
    except (DataError, OverflowError, UnicodeError) as error:
        raise DocumentError("", f"the database does not take a value: {_said(error)}") from error
    except SQLAlchemyError as error:
        where = engine.url.render_as_string(hide_password=True)
        first = _said(error)
        raise EngineError(f"the database {where} failed: {first}; is it up, and is the address right?") from error


def _said(error: Exception) -> str:
    """The first line of what a driver says."""
    said = str(error.orig) if isinstance(error, DBAPIError) else str(error)
    return said.strip().partition("\n")[0]


def in_conflict(error: EngineError) -> bool:
    """True if a transaction failed only because another one made the same row, or held what it needed.

    Args:
        error: What `transaction` raised.
    """
    cause = error.__cause__
    if not isinstance(cause, DBAPIError):
        return False
    return isinstance(cause, IntegrityError) or getattr(cause.orig, "sqlstate", None) in CONFLICTS


def repeated(engine: Engine, change: Callable[[Connection], T]) -> T:
    """Do a change in one transaction, again if another manager made the same row first, or was in the way.

    Raises:
        EngineError: As `transaction`.
    """
    for left in reversed(range(TRIES)):
        try:
            with transaction(engine) as connection:
                return change(connection)
        except EngineError as error:
            if not left or not in_conflict(error):
                raise
    raise AssertionError


def _address(url: str | None) -> URL:
    url = default_url() + (url or "") if not url or url.startswith("?") else url
    if "://" not in url:
        url = f"sqlite:///{Path(url).expanduser().absolute()}"
    try:
        address = make_url(url)
        if address.drivername in DRIVERS:
            address = address.set(drivername=DRIVERS[address.drivername])
        address.get_dialect()
    except (ArgumentError, NoSuchModuleError, ValueError):
        raise DocumentError(
            "",
            "the database's address is none: give a path, or sqlite:///PATH, postgresql://USER@HOST/NAME",
        ) from None
    return address


def _private(address: URL) -> None:
    """Make the file, for its owner alone, before SQLite does."""
    if not address.database or address.database == ":memory:":
        raise DocumentError("", "a database in memory keeps nothing: name a file, such as sqlite:///priorities.sqlite")
    path = Path(address.database)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise EngineError(f"{path} cannot be written: {error.strerror}") from None


def _arguments(address: URL) -> dict[str, Any]:
    name = "timeout" if address.get_backend_name() == "sqlite" else "connect_timeout"
    return {name: PATIENCE}


def _begin_immediate(engine: Engine) -> None:
    """Let transactions of SQLite lock at their begin: one that read first could not be granted a lock to write."""

    @event.listens_for(engine, "connect")
    def connect(raw: Any, _record: Any) -> None:
        raw.isolation_level = None  # the driver begins no transactions of its own
        raw.execute("PRAGMA journal_mode=WAL")  # readers and a writer at once
        raw.execute("PRAGMA synchronous=FULL")  # what is committed outlives a power cut
        raw.execute("PRAGMA foreign_keys=ON")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        read_only = connection.get_execution_options().get("headworks_reads")
        connection.exec_driver_sql("BEGIN" if read_only else "BEGIN IMMEDIATE")


def _migrate(connection: Connection) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).with_name("migrations")).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    try:
        command.upgrade(config, "head")
    except CommandError as error:
        raise EngineError(f"the database is of a newer version of Headworks: update this one ({error})") from None

"""Steps of a migration; one that was taken is passed over: in MySQL each is a transaction, and a kill leaves some."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.mysql import LONGTEXT

if TYPE_CHECKING:
    from collections.abc import Sequence

NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")
"""A key that counts up: SQLite does that for INTEGER alone."""
LONG = sa.Text().with_variant(LONGTEXT, "mysql")
"""A text that may be large: MySQL's TEXT has 64 KB."""


def create_table(name: str, *columns: sa.Column[object]) -> None:
    """Make a table; names in it differ by their case, in MySQL too.

    Args:
        name: Its name.
        columns: Its columns.
    """
    if not sa.inspect(op.get_bind()).has_table(name):
        op.create_table(name, *columns, mysql_engine="InnoDB", mysql_charset="utf8mb4", mysql_collate="utf8mb4_bin")


def create_index(name: str, table: str, columns: Sequence[str]) -> None:
    """Make an index.

    Args:
        name: Its name.
        table: Name of its table.
        columns: Names of its columns.
    """
    if name not in {each["name"] for each in sa.inspect(op.get_bind()).get_indexes(table)}:
        op.create_index(name, table, list(columns))


def add_column(table: str, column: sa.Column[object]) -> None:
    """Add a column.

    Args:
        table: Name of the table.
        column: The column.
    """
    if column.name not in {each["name"] for each in sa.inspect(op.get_bind()).get_columns(table)}:
        op.add_column(table, column)

"""Kafka topics: what was taken from each, and messages that are no triggers."""

from __future__ import annotations

import sqlalchemy as sa

from headworks_manager.migrations.steps import NUMBER, create_table

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    create_table(
        "headworks_offsets",
        sa.Column("topic", sa.String(64), primary_key=True),
        sa.Column("part", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("following", sa.BigInteger, nullable=False),
    )
    create_table(
        "headworks_letters",
        sa.Column("number", NUMBER, primary_key=True, autoincrement=True),
        sa.Column("part", sa.Integer, nullable=False),
        sa.Column("place", sa.BigInteger, nullable=False),
        sa.Column("topic", sa.String(64), nullable=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("pointer", sa.Text, nullable=False),
        sa.Column("error", sa.Text, nullable=False),
    )

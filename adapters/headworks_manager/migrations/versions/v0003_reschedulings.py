"""Reschedulings: what was begun, and how far it is."""

from __future__ import annotations

import sqlalchemy as sa

from headworks_manager.migrations.steps import LONG, NUMBER, create_index, create_table

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table."""
    create_table(
        "headworks_reschedulings",
        sa.Column("number", NUMBER, primary_key=True, autoincrement=True),
        sa.Column("cluster", sa.String(200), nullable=False),
        sa.Column("began", sa.BigInteger, nullable=False),
        sa.Column("stage", sa.String(20), nullable=False),
        sa.Column("outcome", sa.String(20), nullable=False),
        sa.Column("why", sa.Text, nullable=False),
        sa.Column("topologies", LONG, nullable=False),
        sa.Column("paused", LONG, nullable=False),
        sa.Column("before", LONG, nullable=False),
    )
    create_index("headworks_reschedulings_cluster", "headworks_reschedulings", ["cluster", "stage"])

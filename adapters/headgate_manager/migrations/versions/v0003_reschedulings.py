"""Reschedulings: what was begun, and how far it is."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table."""
    number = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    op.create_table(
        "headgate_reschedulings",
        sa.Column("number", number, primary_key=True, autoincrement=True),
        sa.Column("cluster", sa.String(200), nullable=False),
        sa.Column("began", sa.BigInteger, nullable=False),
        sa.Column("stage", sa.String(20), nullable=False),
        sa.Column("outcome", sa.String(20), nullable=False),
        sa.Column("why", sa.Text, nullable=False),
        sa.Column("topologies", sa.Text, nullable=False),
        sa.Column("paused", sa.Text, nullable=False),
        sa.Column("before", sa.Text, nullable=False),
    )
    op.create_index("headgate_reschedulings_cluster", "headgate_reschedulings", ["cluster", "stage"])

"""Aging of topologies; topologies and the cluster as the last round saw them."""

from __future__ import annotations

import sqlalchemy as sa

from headworks_manager.migrations.steps import add_column, create_table

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add a column and two tables."""
    add_column("headworks_topologies", sa.Column("aging", sa.Integer))
    create_table(
        "headworks_seen",
        sa.Column("name", sa.String(200), primary_key=True),
        sa.Column("nodes", sa.Integer, nullable=False),
        sa.Column("starving", sa.BigInteger),
        sa.Column("boosted", sa.BigInteger),
        sa.Column("served", sa.BigInteger),
        sa.Column("remedy", sa.Text, nullable=False),
    )
    create_table(
        "headworks_cluster",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("nodes", sa.Integer, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
    )

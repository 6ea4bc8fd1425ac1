"""Indications, sources of triggers, and the history."""

from __future__ import annotations

import sqlalchemy as sa

from headworks_manager.migrations.steps import NUMBER, create_index, create_table

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the three tables."""
    create_table(
        "headworks_topologies",
        sa.Column("name", sa.String(200), primary_key=True),
        sa.Column("priority", sa.Integer),
        sa.Column("trigger_priority", sa.Integer, nullable=False),
        sa.Column("desired_nodes", sa.Integer),
        sa.Column("minimum_nodes", sa.Integer),
        sa.Column("hold", sa.Integer, nullable=False),
        sa.Column("active", sa.Boolean, nullable=False),
        sa.Column("wanted", sa.Boolean, nullable=False),
        sa.Column("changed", sa.BigInteger),
    )
    create_table(
        "headworks_sources",
        sa.Column("topology", sa.String(200), sa.ForeignKey("headworks_topologies.name"), primary_key=True),
        sa.Column("source", sa.String(200), primary_key=True),
        sa.Column("sequence", sa.BigInteger, nullable=False),
    )
    create_table(
        "headworks_history",
        sa.Column("number", NUMBER, primary_key=True, autoincrement=True),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("topology", sa.String(200), nullable=False),
        sa.Column("action", sa.String(20), nullable=False),
        sa.Column("verdict", sa.String(20), nullable=False),
        sa.Column("who", sa.String(200), nullable=False),
        sa.Column("why", sa.Text, nullable=False),
        sa.Column("before", sa.Text, nullable=False),
        sa.Column("after", sa.Text, nullable=False),
    )
    create_index("headworks_history_topology", "headworks_history", ["topology", "number"])

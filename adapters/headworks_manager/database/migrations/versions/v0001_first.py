"""The first tables: indications, history, what rounds saw, reschedulings, Kafka topics."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")
"""A key that counts up: SQLite does that for INTEGER alone."""


INDEXES: dict[str, list[str]] = {"number": [], "topology": ["topology"], "source": ["topology", "source"]}
"""Indexes of the history, between the cluster and the number."""


def upgrade() -> None:
    """Make all tables."""
    _priorities()
    _seen()
    _reschedulings()
    _topics()


def _priorities() -> None:
    op.create_table(
        "headworks_topologies",
        sa.Column("cluster", sa.String(200), primary_key=True),
        sa.Column("name", sa.String(200), primary_key=True),
        sa.Column("priority", sa.Integer),
        sa.Column("trigger_priority", sa.Integer, nullable=False),
        sa.Column("desired_nodes", sa.Integer),
        sa.Column("minimum_nodes", sa.Integer),
        sa.Column("hold", sa.Integer, nullable=False),
        sa.Column("active", sa.Boolean, nullable=False),
        sa.Column("wanted", sa.Boolean, nullable=False),
        sa.Column("changed", sa.BigInteger),
        sa.Column("aging", sa.Integer),
    )
    op.create_table(
        "headworks_sources",
        sa.Column("cluster", sa.String(200), primary_key=True),
        sa.Column("topology", sa.String(200), primary_key=True),
        sa.Column("source", sa.String(200), primary_key=True),
        sa.Column("sequence", sa.BigInteger, nullable=False),
        sa.ForeignKeyConstraint(
            ["cluster", "topology"], ["headworks_topologies.cluster", "headworks_topologies.name"], ondelete="CASCADE"
        ),
    )
    op.create_table(
        "headworks_history",
        sa.Column("number", NUMBER, primary_key=True, autoincrement=True),
        sa.Column("cluster", sa.String(200), nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("until", sa.BigInteger, nullable=False),
        sa.Column("times", sa.BigInteger, nullable=False),
        sa.Column("topology", sa.String(200), nullable=False),
        sa.Column("action", sa.String(20), nullable=False),
        sa.Column("verdict", sa.String(20), nullable=False),
        sa.Column("source", sa.String(200), nullable=False),
        sa.Column("who", sa.String(200), nullable=False),
        sa.Column("why", sa.Text, nullable=False),
        sa.Column("before", sa.Text, nullable=False),
        sa.Column("after", sa.Text, nullable=False),
    )
    for name, columns in INDEXES.items():
        op.create_index(f"headworks_history_{name}", "headworks_history", ["cluster", *columns, "number"])


def _seen() -> None:
    op.create_table(
        "headworks_seen",
        sa.Column("cluster", sa.String(200), primary_key=True),
        sa.Column("name", sa.String(200), primary_key=True),
        sa.Column("nodes", sa.Integer, nullable=False),
        sa.Column("minimum", sa.Integer, nullable=False),
        sa.Column("starving", sa.BigInteger),
        sa.Column("boosted", sa.BigInteger),
        sa.Column("served", sa.BigInteger),
        sa.Column("remedy", sa.Text, nullable=False),
    )
    op.create_table(
        "headworks_clusters",
        sa.Column("cluster", sa.String(200), primary_key=True),
        sa.Column("nodes", sa.Integer, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
    )


def _reschedulings() -> None:
    op.create_table(
        "headworks_reschedulings",
        sa.Column("number", NUMBER, primary_key=True, autoincrement=True),
        sa.Column("cluster", sa.String(200), nullable=False),
        sa.Column("began", sa.BigInteger, nullable=False),
        sa.Column("stage", sa.String(20), nullable=False),
        sa.Column("outcome", sa.String(20), nullable=False),
        sa.Column("why", sa.Text, nullable=False),
        sa.Column("topologies", sa.Text, nullable=False),
        sa.Column("paused", sa.Text, nullable=False),
        sa.Column("before", sa.Text, nullable=False),
    )
    op.create_index("headworks_reschedulings_cluster", "headworks_reschedulings", ["cluster", "stage"])


def _topics() -> None:
    op.create_table(
        "headworks_offsets",
        sa.Column("cluster", sa.String(200), primary_key=True),
        sa.Column("topic", sa.String(64), primary_key=True),
        sa.Column("part", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("following", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "headworks_letters",
        sa.Column("number", NUMBER, primary_key=True, autoincrement=True),
        sa.Column("cluster", sa.String(200), nullable=False),
        sa.Column("part", sa.Integer, nullable=False),
        sa.Column("place", sa.BigInteger, nullable=False),
        sa.Column("topic", sa.String(64), nullable=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("pointer", sa.Text, nullable=False),
        sa.Column("error", sa.Text, nullable=False),
    )

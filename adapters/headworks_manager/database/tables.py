"""Tables of the manager's database; `migrations` makes them.

Clusters may share a database: `cluster` names whose row it is. Reschedulings have the engine's own name of it.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
)

metadata = MetaData()
NUMBER = BigInteger().with_variant(Integer, "sqlite")
"""A key that counts up: SQLite does that for INTEGER alone."""

topologies = Table(
    "headworks_topologies",
    metadata,
    Column("cluster", String(200), primary_key=True),
    Column("name", String(200), primary_key=True),
    Column("priority", Integer),
    Column("trigger_priority", Integer, nullable=False),
    Column("desired_nodes", Integer),
    Column("minimum_nodes", Integer),
    Column("hold", Integer, nullable=False),
    Column("active", Boolean, nullable=False),
    Column("wanted", Boolean, nullable=False),
    Column("changed", BigInteger),
    Column("aging", Integer),
)
"""Indications, one a topology (`indication.Indication`)."""

sources = Table(
    "headworks_sources",
    metadata,
    Column("cluster", String(200), primary_key=True),
    Column("topology", String(200), primary_key=True),
    Column("source", String(200), primary_key=True),
    Column("sequence", BigInteger, nullable=False),
    ForeignKeyConstraint(
        ["cluster", "topology"], ["headworks_topologies.cluster", "headworks_topologies.name"], ondelete="CASCADE"
    ),
)
"""Largest sequence number of each source of triggers."""

history = Table(
    "headworks_history",
    metadata,
    Column("number", NUMBER, primary_key=True, autoincrement=True),
    Column("cluster", String(200), nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("until", BigInteger, nullable=False),
    Column("times", BigInteger, nullable=False),
    Column("topology", String(200), nullable=False),
    Column("action", String(20), nullable=False),
    Column("verdict", String(20), nullable=False),
    Column("source", String(200), nullable=False),
    Column("who", String(200), nullable=False),
    Column("why", Text, nullable=False),
    Column("before", Text, nullable=False),
    Column("after", Text, nullable=False),
    Index("headworks_history_number", "cluster", "number"),
    Index("headworks_history_topology", "cluster", "topology", "number"),
    Index("headworks_history_source", "cluster", "topology", "source", "number"),
)
"""Changes and triggers in their order: who, when, how often until when, why, and the indication before and after, as
JSON."""

seen = Table(
    "headworks_seen",
    metadata,
    Column("cluster", String(200), primary_key=True),
    Column("name", String(200), primary_key=True),
    Column("nodes", Integer, nullable=False),
    Column("minimum", Integer, nullable=False),
    Column("starving", BigInteger),
    Column("boosted", BigInteger),
    Column("served", BigInteger),
    Column("remedy", Text, nullable=False),
)
"""Topologies as the last round saw them, registered or not (`starving.Seen`)."""

clusters = Table(
    "headworks_clusters",
    metadata,
    Column("cluster", String(200), primary_key=True),
    Column("nodes", Integer, nullable=False),
    Column("at", BigInteger, nullable=False),
)
"""Clusters as they were seen last."""

reschedulings = Table(
    "headworks_reschedulings",
    metadata,
    Column("number", NUMBER, primary_key=True, autoincrement=True),
    Column("cluster", String(200), nullable=False),
    Column("began", BigInteger, nullable=False),
    Column("stage", String(20), nullable=False),
    Column("outcome", String(20), nullable=False),
    Column("why", Text, nullable=False),
    Column("topologies", Text, nullable=False),
    Column("paused", Text, nullable=False),
    Column("before", Text, nullable=False),
    Index("headworks_reschedulings_cluster", "cluster", "stage"),
)
"""Reschedulings (`rescheduling.Rescheduling`): topologies, those that were paused, and their old slots as JSON."""

offsets = Table(
    "headworks_offsets",
    metadata,
    Column("cluster", String(200), primary_key=True),
    Column("topic", String(64), primary_key=True),
    Column("part", Integer, primary_key=True, autoincrement=False),
    Column("following", BigInteger, nullable=False),
)
"""Offset of the message that comes after those taken, for each partition of each Kafka topic, by the topic's UUID."""

letters = Table(
    "headworks_letters",
    metadata,
    Column("number", NUMBER, primary_key=True, autoincrement=True),
    Column("cluster", String(200), nullable=False),
    Column("part", Integer, nullable=False),
    Column("place", BigInteger, nullable=False),
    Column("topic", String(64), nullable=False),
    Column("content", LargeBinary, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("pointer", Text, nullable=False),
    Column("error", Text, nullable=False),
)
"""Messages that are no triggers, until they are in the dead-letter topic (`topics.Letter`)."""

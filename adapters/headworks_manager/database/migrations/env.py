"""Environment that Alembic runs: the connection is given, its transaction is the caller's."""

from __future__ import annotations

from alembic import context

from headworks_manager.database.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table="headworks_version",
    transactional_ddl=True,
)
context.run_migrations()

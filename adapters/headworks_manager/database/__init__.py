"""The manager's database: connection, tables, and what is written in one transaction."""

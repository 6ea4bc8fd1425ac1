"""Versions of the database, run by Alembic."""

"""Spark's events: parsed, recorded, joined into jobs."""

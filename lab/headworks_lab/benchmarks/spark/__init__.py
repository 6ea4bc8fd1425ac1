"""Costs of the Spark adapter."""

"""Costs of the Storm adapter."""

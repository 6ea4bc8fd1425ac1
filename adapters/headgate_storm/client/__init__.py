"""Nimbus asked through Storm's own client, and what it answers read."""

"""Triggers from a Kafka topic."""

"""Headgate: a pluggable scheduling SDK for stream processing."""

"""Topologies to run: described for the Java runner, catalogued, found by name."""

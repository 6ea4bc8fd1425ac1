"""Topologies to run on a cluster: a catalogue of them, found by name, and described for the Java runner."""

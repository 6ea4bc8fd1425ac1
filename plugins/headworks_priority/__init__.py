"""Nodes shared among topologies by priority: SPS and DPS of Chakraborty's thesis, and SPS with its minima kept."""

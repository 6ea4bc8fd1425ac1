"""From tables to knowledge: profiles, drift, percentiles, traffic, health of nodes, and a request for schedulers."""

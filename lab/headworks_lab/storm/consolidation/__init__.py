"""Section 5.5 of D-Storm on a real cluster: traffic between nodes, what they cost when the input falls, latency."""

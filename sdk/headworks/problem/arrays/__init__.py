"""A request as arrays: what every step of planning reads, and none writes."""

"""A real Spark cluster on this machine."""

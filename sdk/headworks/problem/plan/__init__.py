"""From a decision on nodes to a checked and scored plan."""

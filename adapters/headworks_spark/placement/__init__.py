"""Places of tasks, at level hard (a table in the driver) and level soft (preferred locations)."""

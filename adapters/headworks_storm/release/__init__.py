"""A release of Storm: its artefacts, its JVMs, and the jar compiled against it."""

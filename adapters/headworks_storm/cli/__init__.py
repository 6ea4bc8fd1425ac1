"""The commands of the Storm adapter: `headworks storm`, `headworks serve storm` and `headworks import`."""

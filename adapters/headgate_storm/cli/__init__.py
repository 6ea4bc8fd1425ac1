"""The commands of the Storm adapter: `headgate storm`, `headgate serve storm` and `headgate import`."""

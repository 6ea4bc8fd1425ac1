"""Plugins: found, loaded, their options read, their schedulers run in a sandbox."""

"""The command line of the Storm adapter."""

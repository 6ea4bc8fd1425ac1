"""A real Storm cluster on this machine."""

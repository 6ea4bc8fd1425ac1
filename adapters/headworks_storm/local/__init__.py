"""A real Storm cluster on this machine: its daemons, its home, its ports, and the state file of one left running."""

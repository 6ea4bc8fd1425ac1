"""Applications of users: run with a session that is placed, or connected to while they run."""

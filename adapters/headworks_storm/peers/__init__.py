"""The two ports of the service: who is let in, and within which bounds."""

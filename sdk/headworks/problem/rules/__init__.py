"""The rules of a placement beyond capacity: constraints, and which tasks may share a worker."""

"""Constraints in a topology's configuration: read as constraints of the model, or named where they cannot be read."""

"""Charts of measured figures."""

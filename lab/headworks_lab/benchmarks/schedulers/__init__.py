"""Quality and speed of schedulers."""

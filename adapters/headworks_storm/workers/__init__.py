"""Reports of workers: collected, turned into metrics, kept as samples."""

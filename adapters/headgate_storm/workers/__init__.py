"""Reports of workers: collected, measured, kept as samples."""

"""Places of tasks: a table in the driver, and the right to have it obeyed."""

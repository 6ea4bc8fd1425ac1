"""Raw samples: their files by hour, and their rows in the present columns, whatever the version."""

"""Raw samples: their files by hour, and their rows."""

"""What workers reported, written down as samples."""

"""Speed and kills of the priority manager."""

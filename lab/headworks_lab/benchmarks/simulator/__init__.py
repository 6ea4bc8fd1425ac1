"""Speed of the simulator, and its figures beside real ones."""

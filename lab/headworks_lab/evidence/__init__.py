"""Evidence: printed figures and improved variants, recomputed."""

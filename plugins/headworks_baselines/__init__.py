"""Storm's own schedulers, as the ground that every other scheduler is compared with."""

"""Tasks with seats: where they live, how many work, their moves, and a round with tasks in place of seats."""

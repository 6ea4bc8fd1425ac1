"""A simulated engine: steady state in closed form, migrations, stalls and failures over simulated time."""

"""The cluster as a fluid: steady state in closed form, migrations, stalls and failures over simulated time."""

"""Profiling on a real cluster: the rate is raised on each machine type until nothing more is processed."""

"""Speed, memory and quality, as tables: `python -m headworks_lab.benchmarks.NAME`."""

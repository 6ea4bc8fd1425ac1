"""The contract of engines: what every adapter keeps, tried on an application that runs."""

"""Printed figures that the simulator recomputes."""

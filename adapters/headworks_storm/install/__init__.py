"""An operator's installation of Storm: examined, and topologies submitted to it."""

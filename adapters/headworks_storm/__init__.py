"""Apache Storm: its topologies read, and (with the bridge on Nimbus) its cluster scheduled."""

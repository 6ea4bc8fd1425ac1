"""`headworks demo`: a real streaming query on a real cluster, placed by one scheduler after the other."""

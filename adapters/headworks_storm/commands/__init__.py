"""Commands on a cluster, carried out by their own JVM or by a running `headworks serve storm`."""

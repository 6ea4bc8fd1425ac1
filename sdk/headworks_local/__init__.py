"""The toolkit of adapters: a JVM, processes, a local cluster."""

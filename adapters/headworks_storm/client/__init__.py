"""Nimbus reached through Storm's own client, its Thrift structs read as values, and topologies of Storm's test data."""

"""YARN on this machine: a ResourceManager and NodeManagers on loopback addresses."""

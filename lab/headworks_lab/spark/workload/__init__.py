"""Queries to run on a cluster that do real work: Nexmark's."""

"""Nodes of a local cluster that are apart: each has a network interface, processor time and memory of its own.

A node is a Linux network namespace whose interface is on a bridge, with a rate limit in both directions, and a control
group. Its processes are started in both; Nimbus or a Master, and this process, stay outside, at the bridge's address.
"""

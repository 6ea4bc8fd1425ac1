"""Network namespaces by the process that made them: tests that run meanwhile have their own."""

from __future__ import annotations

from headgate.engines.apart.names import ClusterName
from headgate.engines.apart.network import namespaces


def namespaces_of(pid: int) -> set[str]:
    """Names of the network namespaces that a process made, and that are there."""
    return {each for each in namespaces() if (name := ClusterName.parse(each)) and name.pid == pid}

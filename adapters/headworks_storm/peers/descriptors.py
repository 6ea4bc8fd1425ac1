"""File descriptors of the service: as many as its user may have, and how many peers they serve."""

from __future__ import annotations

import resource

RESERVE = 256
"""Descriptors that no worker gets: strangers at both ports, Nimbus, files, what libraries open. With fewer, a cluster
that fills the rest leaves Nimbus without an answer."""
UNLIMITED = 2**20
"""What counts where the system names no limit."""


def raise_limit() -> int:
    """Raise the number of descriptors that this process may have to the hard limit; returns the number it has then."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        except (OSError, ValueError):  # macOS names a hard limit that it does not grant
            return soft
    return UNLIMITED if hard == resource.RLIM_INFINITY else hard


def places(limit: int, wanted: int) -> int:
    """Peers that a process with so many descriptors can serve at a time, at least one.

    Args:
        limit: Descriptors that it may have.
        wanted: Most peers that are asked for.
    """
    return max(1, min(wanted, limit - RESERVE))

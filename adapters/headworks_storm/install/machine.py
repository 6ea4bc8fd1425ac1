"""The daemons of one machine: a machine with Nimbus alone runs no worker, and needs no jar for workers."""

from __future__ import annotations

import contextlib
import socket
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

LOCAL, LOCAL_DEFAULT = "storm.local.dir", "storm-local"
"""The setting for the folder of daemons' state, and Storm's default, below its home."""


def has_supervisor(home: Path, conf: Mapping[str, Any], known: Sequence[str] | None) -> bool:
    """Tell whether a supervisor is on this machine, as far as one can know; in doubt it is.

    Args:
        home: The installation.
        conf: Its `storm.yaml`.
        known: Hosts of the supervisors that Nimbus knows, None where it was not asked. Then what daemons left in their
            folder counts: Nimbus something, and a supervisor nothing.
    """
    if known is not None:
        return any(map(of_this_machine, known))
    state = home / str(conf.get(LOCAL) or LOCAL_DEFAULT)  # an absolute path stays what it is
    return (state / "supervisor").exists() or not (state / "nimbus").exists()


def of_this_machine(host: str) -> bool:
    """Tell whether a host name, or an address, is one of this machine: one can listen there."""
    with contextlib.suppress(OSError), socket.create_server((host, 0)):
        return True
    return False

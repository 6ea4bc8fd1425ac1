"""Commands on a cluster: carried out by the `headworks serve storm` of this user, or by a JVM of their own."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headworks.errors import EngineError, EngineUseError
from headworks_storm.commands.carry_out import carry_out
from headworks_storm.commands.line import ask as ask_process
from headworks_storm.install.installation import standing_or_at
from headworks_storm.nimbus.bridge import Endpoint

if TYPE_CHECKING:
    from headworks_storm.install.installation import Installation

NAMED = re.compile(r"""^["']?headworks\.endpoint["']?\s*:\s*(["']?)(/[^"'\n]*?)\1\s*(?:#.*)?$""", re.MULTILINE)
"""The line of a `storm.yaml` that names the endpoint file. Storm's own reader of YAML is in a JVM, which is to be
spared; a line in another form is not seen, and then the command has a JVM."""


def ask(home: Path | None, command: str, **words: Any) -> Any:
    """Carry out a command on the cluster of an installation, or on that which `headworks storm up` started.

    Args:
        command: One of `COMMANDS`. `words`: its arguments.

    Returns:
        What it returns, as JSON has it.

    Raises:
        EngineError: No cluster is there, or it refuses.
    """
    where = standing_or_at(home)
    endpoint = _endpoint(where)
    answer = ask_process(endpoint, where.home, command, words) if endpoint is not None else None
    if answer is None or "elsewhere" in answer:
        with where.gateway() as nimbus:
            return carry_out(nimbus, command, words)
    if "error" in answer:
        raise (EngineUseError if answer["wrong_use"] else EngineError)(answer["error"])
    return answer["done"]


def _endpoint(where: Installation) -> Endpoint | None:
    """The endpoint of a process of this user that answers the Nimbus of an installation."""
    try:
        named = NAMED.search(where.conf_file.read_text())
        if named is None:
            return None
        found = Path(named[2]).stat()
    except (OSError, ValueError):
        return None
    # What others can read or write might lead to a process of theirs.
    own = found.st_uid == os.geteuid() and not found.st_mode & 0o077
    return Endpoint.read(Path(named[2])) if own else None

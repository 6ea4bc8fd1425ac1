"""Asking a scheduler in another process: `python -m headgate.testing.replay NAME`, requests in, plans out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

from headgate.documents import dumps, restore, unstructure
from headgate.errors import PluginError
from headgate.model import Request
from headgate.plugins.host import PluginHost

if TYPE_CHECKING:
    from collections.abc import Sequence


def replay(name: str, requests: Sequence[Request], *, hash_seed: int) -> list[str]:
    """The plan documents, one line each, that a fresh interpreter makes of the requests.

    Args:
        name: A scheduler that is installed through an entry point.
        requests: What to ask, in order.
        hash_seed: Its `PYTHONHASHSEED`.

    Raises:
        PluginError: The process failed; the text ends with what it said last.
    """
    run = subprocess.run(
        [sys.executable, "-m", "headgate.testing.replay", name],
        input=json.dumps([unstructure(request) for request in requests]),
        env={**os.environ, "PYTHONHASHSEED": str(hash_seed), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
    )
    if run.returncode:
        raise PluginError(f"{name} cannot be asked in another process: {run.stderr.strip()[-300:]}")
    return run.stdout.split("\n")[:-1]


def main() -> None:
    """Read a JSON array of requests and write one plan a line."""
    (name,) = sys.argv[1:]
    host = PluginHost.load()
    for data in json.load(sys.stdin):
        print(dumps(host.schedule(name, restore(data, Request)), indent=None), end="")  # noqa: T201


if __name__ == "__main__":
    main()

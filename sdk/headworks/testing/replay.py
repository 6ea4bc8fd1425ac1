"""Asking a scheduler in another process: `python -m headworks.testing.replay NAME OPTIONS`, requests in, plans out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from headworks.documents import dumps, restore, unstructure
from headworks.errors import PluginError
from headworks.model import Request
from headworks.plugins.host import PluginHost

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def replay(
    name: str, requests: Sequence[Request], *, hash_seed: int, options: Mapping[str, Any] | None = None
) -> list[str]:
    """The plan documents, one line each, that a fresh interpreter makes of the requests.

    Args:
        name: A scheduler that is installed through an entry point.
        requests: What to ask, in order.
        hash_seed: Its `PYTHONHASHSEED`.
        options: Options of the scheduler by name, the defaults without.

    Raises:
        PluginError: The process failed; the text ends with what it said last.
    """
    run = subprocess.run(
        [sys.executable, "-m", "headworks.testing.replay", name, json.dumps(dict(options or {}))],
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
    name, given = sys.argv[1:]
    # Native code prints to descriptor 1, whatever Python makes of sys.stdout.
    plans = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    host = PluginHost.load()
    options = host.options(name, json.loads(given))
    with plans:
        for data in json.load(sys.stdin):
            plans.write(dumps(host.schedule(name, restore(data, Request), options), indent=None))


if __name__ == "__main__":
    main()

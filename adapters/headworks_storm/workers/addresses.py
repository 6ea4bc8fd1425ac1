"""Addresses of collectors as `headworks.collector` names them: one, several in a text with commas, or a list."""

from __future__ import annotations

from typing import Any

MOST = 8
"""Collectors that a worker reports to, as in the jar's `Settings`: each costs it a connection and a thread."""


def collector_addresses(named: Any) -> tuple[tuple[str, int], ...]:
    """Hosts and ports in the value of `headworks.collector`, each once; none if it is not set.

    Args:
        named: The value, as YAML has it.

    Raises:
        ValueError: One of them is no HOST:PORT, or there are more than a worker reports to.
    """
    texts = [str(each) for each in named] if isinstance(named, list | tuple) else str(named or "").split(",")
    found = tuple(dict.fromkeys(_address(text.strip()) for text in texts if text.strip()))
    if len(found) > MOST:
        raise ValueError(f"{len(found)} addresses, and a worker reports to {MOST}")
    return found


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not (port.isascii() and port.isdigit()) or not 0 < int(port) < 65536:
        raise ValueError(f"{text!r} is no HOST:PORT")
    return host, int(port)

"""Benches, on which experiments on real engines run; a simulator needs none."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from headworks.plugins.opening import opened

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from headworks.plugins.host import PluginHost

BENCH = "headworks_bench"
"""The optional hook of real engines."""


def bench_of(host: PluginHost, name: str) -> AbstractContextManager[Any]:
    """Start what experiments on an engine run on; the context yields None for a simulator.

    Args:
        host: The plugins.
        name: Name of the engine's plugin.
    """
    return opened(host.plugin(name), BENCH) if host.has(name, BENCH) else contextlib.nullcontext()

"""Workloads: named requests to try schedulers on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs

from headworks.model import Request


@attrs.frozen(kw_only=True)
class Workload:
    """A named request that shows what a scheduler is for.

    Attributes:
        build: Makes the request.
        details: Facts that the request cannot hold and an engine needs to run it for real, by the engine's own keys.
    """

    name: str
    summary: str
    build: Callable[[], Request]
    details: Mapping[str, Any] = attrs.field(factory=dict)

"""Dates of reports that do not jump: whoever sets the system's clock makes no worker look alive, or gone."""

from __future__ import annotations

import time

BEGAN = time.time() - time.monotonic()


def steady() -> float:
    """Seconds since 1970 as the system had them when this process began, and those that have passed."""
    return BEGAN + time.monotonic()

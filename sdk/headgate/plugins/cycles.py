"""Python's search for cycles, seldom: a large request is many objects that hold none, and is searched each time."""

from __future__ import annotations

import gc

YOUNG = 100_000
"""Objects more than before at which young ones are searched, ten times as many for older ones. If larger, a process
keeps more garbage; if smaller, plans of large requests take longer (Python's own number is 700)."""


def collect_seldom() -> None:
    """Set it for this process, which is a program of Headgate's own: a library leaves its host's settings alone."""
    gc.set_threshold(YOUNG, 10, 10)

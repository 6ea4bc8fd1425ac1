"""Python's search for cycles, seldom: a large request is many objects that hold none, and is searched each time."""

from __future__ import annotations

import gc

THRESHOLDS = 50_000, 5, 1
"""Objects more than before at which young ones are searched, and after how many searches those that outlived them.
Python's own are 700, 10, 10."""


def collect_seldom() -> None:
    """Set it for this process, which is a program of Headworks's own: a library leaves its host's settings alone."""
    gc.set_threshold(*THRESHOLDS)

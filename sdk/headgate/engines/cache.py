"""Where Headgate keeps what can be made or fetched again."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """The user's cache folder of Headgate: $XDG_CACHE_HOME/headgate, else ~/.cache/headgate."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "headgate"

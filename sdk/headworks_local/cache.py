"""Cache folder, for files that can be made or fetched again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from platformdirs import user_cache_path

if TYPE_CHECKING:
    from pathlib import Path


def cache_folder() -> Path:
    """The user's cache folder of Headworks: on Linux $XDG_CACHE_HOME/headworks, else ~/.cache/headworks."""
    return user_cache_path("headworks", appauthor=False)

"""Cache folder, for files that can be made or fetched again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from platformdirs import user_cache_path

if TYPE_CHECKING:
    from pathlib import Path


def cache_folder() -> Path:
    """The user's cache folder of Headgate: on Linux $XDG_CACHE_HOME/headgate, else ~/.cache/headgate."""
    return user_cache_path("headgate", appauthor=False)

"""The origin of a plugin: its version, and the commit of the repository that it was installed from."""

from __future__ import annotations

import contextlib
import json
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from headworks.plugins.host import PluginHost

SECONDS = 5.0
"""Time in which git answers; a repository on a slow network share is not worth more."""


def origin(host: PluginHost, plugin: str, role: str) -> dict[str, str]:
    """Version and commit of a plugin, by the names `ROLE_version` and `ROLE_commit`; "" where they are not known."""
    known = host.plugin(plugin) if plugin in host else None
    version, commit = ("", "") if known is None else (known.version, commit_of(known.distribution))
    return {f"{role}_version": version, f"{role}_commit": commit}


@cache
def commit_of(name: str) -> str:
    """The commit that a distribution was installed from; with `-dirty` where files have been changed since.

    Returns:
        "" for one that came from no repository, such as a wheel.
    """
    try:
        told = json.loads(distribution(name).read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        return ""
    if commit := told.get("vcs_info", {}).get("commit_id"):
        return str(commit)
    place = urlsplit(told.get("url", ""))
    if place.scheme != "file":
        return ""
    folder, found = unquote(place.path), ""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        found = _git(folder, "rev-parse", "HEAD")
        found += "-dirty" if _git(folder, "status", "--porcelain", "--untracked-files=no") else ""
    return found


def _git(folder: str, *words: str) -> str:
    asked = ["git", "-C", folder, *words]
    return subprocess.run(asked, capture_output=True, text=True, check=True, timeout=SECONDS).stdout.strip()

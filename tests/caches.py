"""A cache folder for one test, in which no standing cluster of this machine is found."""

from __future__ import annotations

from headworks_local.private_files import cache_folder


def own_cache(folder):
    """A cache whose standing cluster is of this test alone, with all that was prepared for the others."""
    for each in cache_folder().glob("*/*"):
        if each.stem != "cluster":
            link = folder / "cache" / "headworks" / each.parent.name / each.name
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(each)
    return {"XDG_CACHE_HOME": str(folder / "cache")}

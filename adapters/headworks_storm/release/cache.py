"""The folder that all homes of one release share, once in the user's cache: its jars, and the settings of its logs.

A class data archive serves only JVMs whose class path has the very path names that it was made with, so these jars have
the same ones in each cluster.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from headworks_local.private_files import cache_folder

if TYPE_CHECKING:
    from headworks_storm.release.artefacts import Distribution

LOG4J2 = Path(__file__).with_name("log4j2")
"""Settings of the logs of daemons and workers."""


def release_folder(distribution: Distribution, *, cache: Path | None = None) -> Path:
    """The folder with `lib`, `lib-worker` and `log4j2` of a release, which is made if it is not there.

    Args:
        distribution: Whose jars it links to.
        cache: Folder to keep it in; the user's cache by default.
    """
    links = {"lib": distribution.lib, "lib-worker": distribution.lib_worker}
    # Named by its content: another cache of jars, or other settings, get a folder of their own.
    name = f"storm-{distribution.version}-{_digest(links)}"
    folder = (cache or cache_folder()).resolve() / "storm" / name
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as draft:
            _publish(_lay_out(Path(draft, name), links), folder)
    return folder


def _digest(links: dict[str, tuple[Path, ...]]) -> str:
    jars = (f"{name} {jar.resolve()}".encode() for name, jars in links.items() for jar in sorted(jars))
    logs = (file.read_bytes() for file in sorted(LOG4J2.iterdir()))
    return hashlib.sha256(b"\0".join((*jars, *logs))).hexdigest()[:12]


def _lay_out(folder: Path, links: dict[str, tuple[Path, ...]]) -> Path:
    for name, jars in links.items():
        (folder / name).mkdir(parents=True)
        for jar in jars:
            (folder / name / jar.name).symlink_to(jar.resolve())
    shutil.copytree(LOG4J2, folder / "log4j2")
    return folder


def _publish(draft: Path, folder: Path) -> None:
    """Give it its name, whole; without effect if another process did so first."""
    try:
        draft.rename(folder)
    except OSError:  # a folder that is not empty cannot be replaced: the other process's has the same content
        if not folder.is_dir():
            raise

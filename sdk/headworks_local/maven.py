"""Files of a Maven repository, found by their coordinates: no Maven and no JVM is needed."""

from __future__ import annotations

import hashlib
import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from headworks.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

DOWNLOADS = 8
"""Jars that are downloaded at a time. With many more, Maven Central may answer that there are too many requests."""


@attrs.frozen
class Artefact:
    """One file of a Maven repository."""

    group: str
    name: str
    version: str
    classifier: str = ""

    @property
    def path(self) -> Path:
        """Its place in a Maven repository."""
        stem = "-".join(part for part in (self.name, self.version, self.classifier) if part)
        return Path(*self.group.split("."), self.name, self.version, f"{stem}.jar")

    def __str__(self) -> str:
        parts = (self.group, self.name, self.version, self.classifier)
        return ":".join(part for part in parts if part)


def resolve_all(digests: Sequence[tuple[Artefact, str]], cache: Path | None = None) -> list[Path]:
    """Find several files, or download them, some at a time.

    Args:
        digests: What to find, and the SHA-256 that each file has to have.
        cache: The local repository, see `resolve`.

    Raises:
        EngineError: As `resolve`.
    """
    with ThreadPoolExecutor(DOWNLOADS) as pool:
        return list(pool.map(lambda each: resolve(each[0], cache, sha256=each[1]), digests))


def resolve_locked(lock: Path, cache: Path | None = None) -> tuple[Path, ...]:
    """Find the jars of a lock file, or download those that are missing.

    Args:
        lock: A text file with the coordinates and the SHA-256 of a jar on each line; `#` begins a comment.
        cache: The local repository, see `resolve`.

    Returns:
        The jars in the order of the lines, such as a class path.

    Raises:
        EngineError: A jar cannot be had, or differs from the lock file.
    """
    rows = [line.split() for line in lock.read_text().splitlines() if not line.startswith("#")]
    return tuple(resolve_all([(Artefact(*coordinates.split(":")), digest) for coordinates, digest in rows], cache))


def resolve(artefact: Artefact, cache: Path | None = None, *, sha256: str = "") -> Path:
    """Find a file in the local Maven repository, or download it there.

    Args:
        cache: The local repository; by default Maven's own (`M2_REPO`, or `~/.m2/repository`).
        sha256: Digest that the file has to have, any if empty. A cached file with another one, such as the half of a
            download that was interrupted, is replaced.

    Raises:
        EngineError: jgo is not installed, the file is not there and cannot be downloaded, or it has another digest.
    """
    place = _place(artefact, cache)
    if not _fits(place, sha256):
        place.parent.mkdir(parents=True, exist_ok=True)
        # Downloaded beside its place and renamed: Maven and other processes see the whole file or none.
        with tempfile.TemporaryDirectory(prefix=".headworks-", dir=place.parent) as folder:
            file = _download(artefact, Path(folder))
            if not _fits(file, sha256):
                raise EngineError(f"{artefact} was downloaded, but its SHA-256 is not {sha256}: try again")
            file.replace(place)
    return place


def missing(artefacts: Iterable[Artefact], cache: Path | None = None) -> int:
    """How many of these files `resolve` would download."""
    return sum(not _place(each, cache).is_file() for each in artefacts)


def _place(artefact: Artefact, cache: Path | None) -> Path:
    return (cache or Path(os.environ.get("M2_REPO") or Path.home() / ".m2" / "repository")) / artefact.path


def _fits(file: Path, sha256: str) -> bool:
    if not sha256 or not file.is_file():
        return file.is_file()
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest() == sha256


def _download(artefact: Artefact, folder: Path) -> Path:
    try:
        # jgo is optional and costs 0.3 s; only a jar that is not in the cache needs it.
        from jgo.maven import MavenContext
    except ImportError:
        message = f"jgo, which downloads {artefact}, is not installed: pip install 'jgo>=3,<4'"
        raise EngineError(message) from None
    project = MavenContext(repo_cache=folder).project(artefact.group, artefact.name)
    file = project.at_version(artefact.version).artifact(artefact.classifier, "jar")
    try:
        return Path(file.resolve())
    except (OSError, RuntimeError) as error:
        message = f"{artefact} cannot be downloaded ({_reason(error)}); go online once, or name a copy of the file"
        raise EngineError(message) from error


def _reason(error: Exception) -> str:
    """Put a failed download into words, without the addresses and object dumps that HTTP libraries add."""
    return "not found in Maven Central" if isinstance(error, RuntimeError) else type(error).__name__

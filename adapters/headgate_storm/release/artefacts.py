"""Files of Storm's own release, found by their Maven coordinates: no Maven and no JVM is needed."""

from __future__ import annotations

import hashlib
import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import attrs

from headgate.errors import EngineError

STORM = "2.8.3"
"""The release of Apache Storm that Headgate is built and tested against."""

LOCKS = Path(__file__).with_name("locks")
"""Lock files, one for each release that a local cluster can run: folders, coordinates and SHA-256 of every jar."""

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


@attrs.frozen(kw_only=True)
class Distribution:
    """The jars of one release: what daemons (`lib`) and workers (`lib-worker`) have on their classpaths."""

    version: str
    lib: tuple[Path, ...]
    lib_worker: tuple[Path, ...]

    @property
    def java(self) -> int:
        """Major version of Java that it needs."""
        return java_version(self.version)


SERVER_TESTS = Artefact("org.apache.storm", "storm-server", STORM, "tests")
"""The jar with Storm's test classes, and with them the topologies of three production clusters."""


def versions() -> tuple[str, ...]:
    """Releases that there is a lock file for, the oldest first."""
    found = (file.stem.removeprefix("storm-") for file in LOCKS.glob("storm-*.txt"))
    return tuple(sorted(found, key=lambda version: [int(part) for part in version.split(".")]))


def java_version(version: str) -> int:
    """Major version of Java that a release needs, which is known before any of its jars is there.

    Raises:
        EngineError: There is no lock file for this version.
    """
    if version not in versions():
        raise EngineError(f"there is no lock file for Storm {version}: choose one of {', '.join(versions())}")
    major, minor = (int(part) for part in version.split(".")[:2])
    # The oldest Java that a release runs on: 17 since Storm 2.8, 11 before.
    return 17 if (major, minor) >= (2, 8) else 11


def distribution(version: str = STORM, cache: Path | None = None) -> Distribution:
    """The jars of a release, each as its lock file says, downloaded where they are missing.

    Args:
        version: One of `versions()`.
        cache: The local repository, see `resolve`.

    Raises:
        EngineError: There is no lock file for this version, or a jar cannot be had or differs from the lock.
    """
    java_version(version)
    lines = (LOCKS / f"storm-{version}.txt").read_text().splitlines()
    rows = [line.split() for line in lines if not line.startswith("#")]
    with ThreadPoolExecutor(DOWNLOADS) as pool:
        jars = list(pool.map(lambda row: resolve(Artefact(*row[1].split(":")), cache, sha256=row[2]), rows))
    folders = {
        folder: tuple(jar for row, jar in zip(rows, jars, strict=True) if folder in row[0].split(","))
        for folder in ("lib", "lib-worker")
    }
    return Distribution(version=version, lib=folders["lib"], lib_worker=folders["lib-worker"])


def resolve(artefact: Artefact, cache: Path | None = None, *, sha256: str = "") -> Path:
    """Find a file in the local Maven repository, or download it there.

    Args:
        artefact: What to find.
        cache: The local repository; by default Maven's own (`M2_REPO`, or `~/.m2/repository`).
        sha256: Digest that the file has to have, any if empty. A cached file with another one, such as the half of a
            download that was interrupted, is replaced.

    Raises:
        EngineError: jgo is not installed, the file is not there and cannot be downloaded, or it has another digest.
    """
    place = (cache or Path(os.environ.get("M2_REPO") or Path.home() / ".m2" / "repository")) / artefact.path
    if not _fits(place, sha256):
        place.parent.mkdir(parents=True, exist_ok=True)
        # Downloaded beside its place and renamed: Maven and other processes see the whole file or none.
        with tempfile.TemporaryDirectory(prefix=".headgate-", dir=place.parent) as folder:
            file = _download(artefact, Path(folder))
            if not _fits(file, sha256):
                raise EngineError(f"{artefact} was downloaded, but its SHA-256 is not {sha256}: try again")
            file.replace(place)
    return place


def _fits(file: Path, sha256: str) -> bool:
    if not sha256 or not file.is_file():
        return file.is_file()
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest() == sha256


def _download(artefact: Artefact, folder: Path) -> Path:
    try:
        # jgo comes with the extra `storm` and costs 0.3 s; only a jar that is not in the cache needs it.
        from jgo.maven import MavenContext
    except ImportError:
        message = f"jgo, which downloads {artefact}, is not installed: pip install 'headgate[storm]'"
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

"""Files of Storm's own release, found by their Maven coordinates."""

from __future__ import annotations

from pathlib import Path

import attrs

from headworks.errors import EngineUseError
from headworks_local.maven import Artefact, missing, resolve_all

STORM = "2.8.3"
"""The release of Apache Storm that Headworks is built and tested against."""

LOCKS = Path(__file__).with_name("locks")
"""Lock files, one for each release that a local cluster can run: folders, coordinates and SHA-256 of every jar."""


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
        raise EngineUseError(f"there is no lock file for Storm {version}: choose one of {', '.join(versions())}")
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
    rows = _locked(version)
    jars = resolve_all([(Artefact(*row[1].split(":")), row[2]) for row in rows], cache)
    folders = {
        folder: tuple(jar for row, jar in zip(rows, jars, strict=True) if folder in row[0].split(","))
        for folder in ("lib", "lib-worker")
    }
    return Distribution(version=version, lib=folders["lib"], lib_worker=folders["lib-worker"])


def missing_jars(version: str = STORM) -> int:
    """How many jars of a release `distribution` would download.

    Raises:
        EngineError: There is no lock file for this version.
    """
    return missing(Artefact(*row[1].split(":")) for row in _locked(version))


def _locked(version: str) -> list[list[str]]:
    """Folders, coordinates and SHA-256 of every jar of a release."""
    java_version(version)
    lines = (LOCKS / f"storm-{version}.txt").read_text().splitlines()
    return [line.split() for line in lines if not line.startswith("#")]

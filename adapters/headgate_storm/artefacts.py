"""Files of Storm's own release, found by their Maven coordinates: no Maven and no JVM is needed."""

from __future__ import annotations

from pathlib import Path

import attrs

from headgate.errors import EngineError

STORM = "2.8.3"
"""The release of Apache Storm that Headgate is built and tested against."""


@attrs.frozen
class Artefact:
    """One file of a Maven repository."""

    group: str
    name: str
    version: str
    classifier: str = ""

    def __str__(self) -> str:
        parts = (self.group, self.name, self.version, self.classifier)
        return ":".join(part for part in parts if part)


SERVER_TESTS = Artefact("org.apache.storm", "storm-server", STORM, "tests")
"""Storm's test classes, and with them the topologies of three production clusters."""


def resolve(artefact: Artefact, cache: Path | None = None) -> Path:
    """Find a file in the local Maven repository, or download it there.

    Args:
        artefact: What to find.
        cache: The local repository; by default Maven's own (`M2_REPO`, or `~/.m2/repository`).

    Raises:
        EngineError: jgo is not installed, or the file is not there and cannot be downloaded.
    """
    try:
        from jgo.maven import MavenContext
    except ImportError:
        message = f"jgo, which downloads {artefact}, is not installed: pip install 'headgate[storm]'"
        raise EngineError(message) from None
    project = MavenContext(repo_cache=cache).project(artefact.group, artefact.name)
    file = project.at_version(artefact.version).artifact(artefact.classifier, "jar")
    try:
        return Path(file.resolve())
    except (OSError, RuntimeError) as error:
        message = f"{artefact} cannot be downloaded ({_reason(error)}); go online once, or name a copy of the file"
        raise EngineError(message) from error


def _reason(error: Exception) -> str:
    """What went wrong, without the addresses and object dumps that HTTP libraries add."""
    return "not found in Maven Central" if isinstance(error, RuntimeError) else type(error).__name__

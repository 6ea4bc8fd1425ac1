"""The jars of Kafka's broker, by their Maven coordinates."""

from __future__ import annotations

from pathlib import Path

from headgate.engines.maven import Artefact, resolve_all

KAFKA = "4.3.1"
"""The release of Apache Kafka whose broker runs; clients of other releases speak to it, too."""
JAVA = 17
"""Major version of Java that it needs."""
LOCK = Path(__file__).with_name(f"kafka-{KAFKA}.txt")
"""Lock file: coordinates and SHA-256 of each jar."""


def kafka_jars(cache: Path | None = None) -> tuple[Path, ...]:
    """The class path of a broker, downloaded where it is missing.

    Args:
        cache: The local repository, see `headgate.engines.maven.resolve`.

    Raises:
        EngineError: A jar cannot be had, or differs from the lock file.
    """
    rows = [line.split() for line in LOCK.read_text().splitlines() if not line.startswith("#")]
    return tuple(resolve_all([(Artefact(*coordinates.split(":")), digest) for coordinates, digest in rows], cache))

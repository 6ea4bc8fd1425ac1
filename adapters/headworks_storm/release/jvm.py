"""The JVMs of Storm that Headworks starts on this machine: light, and quick to start by class data archives."""

from __future__ import annotations

import shutil
from pathlib import Path

from headworks_local.cds import ClassData

SMALL_JVM = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xss512k")
"""Flags that keep a JVM light: no parallel collector, no second compiler, small stacks. Without them
each JVM starts threads and takes memory that a cluster of a few workers has no use for."""


def class_data(java: Path, jars: Path) -> tuple[str, ...]:
    """Options of a JVM whose class path begins with all jars of a folder: the archive made from them, if there is one.

    Args:
        java: The program, or its name on PATH.
        jars: The folder, such as `lib` of a release.
    """
    program = shutil.which(java)
    return ClassData.of(Path(program), jars).options() if program and jars.is_dir() else ()

"""An installation of Storm made of a distribution's jars: the folders its daemons expect, and how they are started."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from headgate_storm.artefacts import Distribution

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

LOG4J2 = Path(__file__).with_name("log4j2")
SMALL_JVM = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xss512k")
"""Flags that keep a JVM light: no parallel collector, no second compiler, small stacks."""


@attrs.frozen(kw_only=True)
class StormHome:
    """A folder laid out as Storm's own release is.

    Attributes:
        path: The folder.
        distribution: Whose jars it has in `lib` and `lib-worker`.
        java: The program that runs its daemons.
    """

    path: Path
    distribution: Distribution
    java: Path

    def lay_out(self, *, extlib: Iterable[Path] = (), extlib_daemon: Iterable[Path] = ()) -> None:
        """Make the folders.

        Args:
            extlib: Jars that daemons and workers have in addition.
            extlib_daemon: Jars that only daemons have in addition.
        """
        jars = self.distribution
        folders = {"lib": jars.lib, "lib-worker": jars.lib_worker, "extlib": extlib, "extlib-daemon": extlib_daemon}
        for name, files in ({"conf": (), "public": ()} | folders).items():
            folder = self.path / name
            folder.mkdir(parents=True, exist_ok=True)
            for file in files:
                (folder / file.name).symlink_to(file.resolve())
        shutil.copytree(LOG4J2, self.path / "log4j2", dirs_exist_ok=True)

    def command(
        self, main: str, *arguments: str, conf: Path, heap_mb: int, properties: Mapping[str, Path] | None = None
    ) -> list[str]:
        """The command that runs one of Storm's classes.

        Args:
            main: Name of the class.
            arguments: Its arguments.
            conf: The one `storm.yaml` it reads.
            heap_mb: Most memory in MB that its objects may take.
            properties: System properties in addition.
        """
        own = {
            "storm.home": self.path,
            "storm.log.dir": conf.parent / "logs",
            "storm.conf.file": conf,
            "log4j.configurationFile": self.path / "log4j2" / "cluster.xml",
        }
        path = os.pathsep.join(str(self.path / each) for each in ("lib/*", "extlib/*", "extlib-daemon/*"))
        defined = (f"-D{key}={value}" for key, value in {**own, **(properties or {})}.items())
        return [str(self.java), *SMALL_JVM, f"-Xmx{heap_mb}m", *defined, "-cp", path, main, *arguments]


def write_conf(file: Path, conf: Mapping[str, Any]) -> Path:
    """Write a `storm.yaml`, a key a line, its value as JSON, which YAML contains; returns the file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{key}: {json.dumps(value)}\n" for key, value in conf.items()))
    return file

"""The $STORM_HOME of a local cluster, laid out from a distribution's jars, and the commands that start its daemons."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from headworks_storm.client.gateway import SMALL_JVM
from headworks_storm.release.artefacts import Distribution

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
WORKER_HEAP = "-Xmx%HEAP-MEM%m"
"""Option of workers' JVMs; Storm puts the worker's share of memory in place of the name."""
LOG4J2 = Path(__file__).parents[1] / "release" / "log4j2"
"""Settings of the logs of daemons and workers."""


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
        folders = {
            "conf": (),
            "public": (),
            "tmp": (),
            "extlib": extlib,
            "extlib-daemon": extlib_daemon,
            "lib": self.distribution.lib,
            "lib-worker": self.distribution.lib_worker,
        }
        for name, files in folders.items():
            folder = self.path / name
            folder.mkdir(parents=True, exist_ok=True)
            for file in files:
                (folder / file.name).symlink_to(file.resolve())
        shutil.copytree(LOG4J2, self.path / "log4j2", dirs_exist_ok=True)

    def command(
        self,
        main: str,
        *arguments: str,
        conf: Path,
        heap_mb: int,
        properties: Mapping[str, Any] | None = None,
        options: Iterable[str] = (),
        flags: Sequence[str] = SMALL_JVM,
    ) -> list[str]:
        """The command that runs one of Storm's classes.

        Args:
            main: Name of the class.
            conf: The one `storm.yaml` it reads.
            heap_mb: Most memory in MB that its objects may take.
            properties: System properties in addition.
            options: JVM options in addition.
            flags: Those that keep a daemon's JVM light.
        """
        own = {
            "storm.home": self.path,
            "storm.log.dir": conf.parent / "logs",
            "storm.conf.file": conf,
            # Nimbus unpacks a library of 15 MB there, and a process that is killed leaves it.
            "java.io.tmpdir": self.path / "tmp",
            "log4j.configurationFile": self.path / "log4j2" / "cluster.xml",
        }
        path = os.pathsep.join(str(self.path / name / "*") for name in ("lib", "extlib", "extlib-daemon"))
        defined = (f"-D{key}={value}" for key, value in {**own, **(properties or {})}.items())
        jvm = (*flags, f"-Xmx{heap_mb}m", *options)
        return [str(self.java), *jvm, *defined, "-cp", path, main, *arguments]

    def worker_settings(self) -> dict[str, str]:
        """Settings of `storm.yaml` for the JVMs of workers, which are a user's, and of their log writers."""
        writer = " ".join(("-Xmx16m", *SMALL_JVM))
        return {"worker.childopts": WORKER_HEAP, "topology.worker.logwriter.childopts": writer}

    def environment(self) -> dict[str, str]:
        """Variables by which a supervisor finds what this home has for workers beside the release."""
        return {"STORM_CONF_DIR": str(self.path / "conf"), "STORM_EXT_CLASSPATH": str(self.path / "extlib" / "*")}


def write_conf(file: Path, conf: Mapping[str, Any]) -> Path:
    """Write a `storm.yaml`, a key a line, its value as JSON, which YAML contains; returns the file.

    Args:
        file: The file; its folder is made if it is not there.
        conf: Settings by name.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{key}: {json.dumps(value)}\n" for key, value in conf.items()))
    return file

"""Topologies in Storm's local mode, which writes down what a component emits."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import attrs

from headworks_storm.release.artefacts import distribution
from headworks_storm.release.jar import own_jars
from patience import PATIENCE
from storm_jvm import jdk


@attrs.frozen
class LocalMode:
    """Classes of the tests, compiled in a folder, with those of Storm and of Headworks."""

    classes: Path

    @property
    def _path(self) -> str:
        return os.pathsep.join(map(str, (self.classes, *own_jars(), *distribution().lib)))

    def compile(self) -> None:
        """Compile them."""
        sources = Path(__file__).parent / "java" / "nexmark"
        files = [str(sources / f"{each}.java") for each in ("NexmarkEvents", "LocalRun")]
        command = [*jdk().javac(), "-nowarn", "-d", str(self.classes), "-cp", self._path, *files]
        subprocess.run(command, check=True)

    def __call__(self, name: str, *arguments: object) -> str:
        """Run a class, and return what it printed."""
        words = [str(jdk().program), "-cp", self._path, f"headworks.storm.workload.{name}", *map(str, arguments)]
        return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True, timeout=PATIENCE).stdout

    def emitted(self, folder: Path, described: dict[str, Any], component: str, enough: int) -> list[list[Any]]:
        """Tuples that a component of a topology emits, so many or some more."""
        (folder / "described").write_text(json.dumps(described))
        self("LocalRun", folder / "described", component, folder / "rows", enough)
        return [json.loads(line) for file in folder.glob("rows.*") for line in file.read_text().splitlines()]

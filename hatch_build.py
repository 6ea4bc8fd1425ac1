"""Puts Headworks's Java classes for Storm into the wheel of a release."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PLACE = "headworks_storm/headworks-storm.jar"


class JarHook(BuildHookInterface[Any]):
    """With HEADWORKS_RELEASE=1 a build compiles the jar or fails; any other fetches nothing and has none.

    The first command that needs the jar compiles it then.
    """

    def dependencies(self) -> list[str]:
        """What the code that compiles imports."""
        if not _release():
            return []
        core = self.metadata.core
        named = (*core.dependencies, *core.optional_dependencies["storm"])
        return [each for each in named if each.startswith(("attrs", "click", "platformdirs", "psutil", "py4j", "jgo"))]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the jar to the wheel of a release."""
        self._folder = None
        if version == "editable" or not _release():
            return
        sys.path[:0] = [str(Path(self.root, folder)) for folder in ("sdk", "adapters")]
        from headworks.errors import EngineError

        self._folder = tempfile.TemporaryDirectory()
        try:
            jar = self._compile(Path(self._folder.name, "classes.jar"))
        except EngineError as error:
            self.app.abort(f"HEADWORKS_RELEASE=1 asks for the jar for Storm, which cannot be made: {error}")
        build_data["force_include"][str(jar)] = PLACE

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        """Remove what was compiled, now that the wheel has it."""
        if self._folder is not None:
            self._folder.cleanup()

    @staticmethod
    def _compile(jar: Path) -> Path:
        from headworks.errors import EngineError
        from headworks_local.java import find_java
        from headworks_storm.release.jar import compile_classes

        java = find_java()
        if java.compiler is None:
            raise EngineError(f"{java.program} is no JDK")
        return compile_classes(jar, java=java)


def _release() -> bool:
    return os.environ.get("HEADWORKS_RELEASE") == "1"

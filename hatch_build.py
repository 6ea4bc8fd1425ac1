"""Puts Headworks's Java classes for Storm into the wheel, where there is a JDK and Storm's jars can be had."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PLACE = "headworks_storm/headworks-storm.jar"


class JarHook(BuildHookInterface[Any]):
    """Compiles with the code that compiles on first use; a wheel without the jar makes it then."""

    def dependencies(self) -> list[str]:
        """What that code imports."""
        core = self.metadata.core
        named = (*core.dependencies, *core.optional_dependencies["storm"])
        return [each for each in named if each.startswith(("attrs", "platformdirs", "psutil", "py4j", "jgo"))]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the jar to a wheel that is no editable one."""
        if version == "editable":
            return
        sys.path[:0] = [str(Path(self.root, folder)) for folder in ("sdk", "adapters")]
        from headworks.errors import EngineError

        self._folder = tempfile.TemporaryDirectory()
        try:
            jar = self._compile(Path(self._folder.name, "classes.jar"))
        except EngineError as error:
            self.app.display_warning(f"The wheel has no jar for Storm, which is compiled on first use then: {error}")
        else:
            build_data["force_include"][str(jar)] = PLACE

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        """Remove what was compiled, now that the wheel has it."""
        if version != "editable":
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

"""Puts a bill of materials into the wheel and, if it is a release, Headworks's Java classes for Storm."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.requirements import Requirement

if TYPE_CHECKING:
    from collections.abc import Iterable

PLACE = "headworks_storm/headworks-storm.jar"
BILL = "headworks.cdx.json"
FLIGHTS = "headworks_spark/demo/flights.parquet"
"""All that the wheel has of others; `flights.txt` beside it names its source and its licence."""


class WheelHook(BuildHookInterface[Any]):
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
        """Add the bill of materials, and the jar to the wheel of a release."""
        self._folder = None
        if version == "editable":
            return
        self._folder = tempfile.TemporaryDirectory()
        bill = Path(self._folder.name, BILL)
        bill.write_text(json.dumps(self._bill(), indent=1) + "\n", encoding="utf-8")
        build_data["sbom_files"].append(str(bill))
        if _release():
            self._add_jar(build_data, Path(self._folder.name, "classes.jar"))

    def _add_jar(self, build_data: dict[str, Any], place: Path) -> None:
        sys.path[:0] = [str(Path(self.root, folder)) for folder in ("sdk", "adapters")]
        from headworks.errors import EngineError

        try:
            jar = self._compile(place)
        except EngineError as error:
            self.app.abort(f"HEADWORKS_RELEASE=1 asks for the jar for Storm, which cannot be made: {error}")
        build_data["force_include"][str(jar)] = PLACE

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        """Remove what was made, now that the wheel has it."""
        if self._folder is not None:
            self._folder.cleanup()

    def _bill(self) -> dict[str, Any]:
        """The bill of materials (CycloneDX 1.6): others' work in the wheel, and the packages that it asks for.

        It has no date and no serial number, so equal sources give equal wheels.
        """
        core = self.metadata.core
        own = f"pkg:pypi/{core.name}@{self.metadata.version}"
        extras = chain.from_iterable(each for name, each in core.optional_dependencies.items() if name != "test")
        asked = {**_libraries(extras, "optional"), **_libraries(core.dependencies, "required")}
        asked.pop(core.name, None)  # extras name each other
        data = Path(self.root, "adapters", FLIGHTS).read_bytes()
        flights = _component("data", FLIGHTS, "CC0-1.0")
        flights["hashes"] = [{"alg": "SHA-256", "content": hashlib.sha256(data).hexdigest()}]
        itself = {**_component("library", core.name, core.license_expression), "version": self.metadata.version}
        return {
            "bomFormat": "CycloneDX",
            "specVersion": "1.6",
            "version": 1,
            "metadata": {"component": {**itself, "bom-ref": own, "purl": own}},
            "components": [flights, *(asked[name] for name in sorted(asked))],
            "dependencies": [{"ref": own, "dependsOn": [asked[name]["bom-ref"] for name in sorted(asked)]}],
        }

    @staticmethod
    def _compile(jar: Path) -> Path:
        from headworks.errors import EngineError
        from headworks_local.java import find_java
        from headworks_storm.release.jar import compile_classes

        java = find_java()
        if java.compiler is None:
            raise EngineError(f"{java.program} is no JDK")
        return compile_classes(jar, java=java)


def _component(kind: str, name: str, licence: str) -> dict[str, Any]:
    return {"type": kind, "name": name, "licenses": [{"license": {"id": licence}}]}


def _libraries(requirements: Iterable[str], scope: str) -> dict[str, dict[str, Any]]:
    """Packages by name. Which version is installed is not known here, so each says which ones may be."""
    found = {}
    for each in map(Requirement, requirements):
        place = f"pkg:pypi/{each.name}"
        allowed = [{"name": "headworks:versions", "value": str(each.specifier)}]
        library = {"type": "library", "bom-ref": place, "name": each.name, "purl": place, "scope": scope}
        found[each.name] = {**library, "properties": allowed}
    return found


def _release() -> bool:
    return os.environ.get("HEADWORKS_RELEASE") == "1"

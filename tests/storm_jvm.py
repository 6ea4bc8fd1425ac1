"""Java classes of the adapter's tests, compiled and run with Storm's own classes and data, for tests and benchmarks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from headgate.java import find_java
from headgate_storm.artefacts import SERVER_TESTS, distribution, resolve
from headgate_storm.jar import SOURCES, bridge_jar

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TESTS = SOURCES.parents[1] / "test"


def run_class(name: str, *arguments: str, folder: Path, heap_mb: int = 3072) -> Iterator[dict[str, Any]]:
    """Compile a class of the test sources with all it needs, run it, and give each line of JSON that it prints.

    Args:
        name: A class of the package `headgate.storm`.
        arguments: Of its main method.
        folder: For the compiled classes.
        heap_mb: Most memory in MB that its objects may take; Storm's own build gives its tests 3 GB.
    """
    java = find_java(distribution().java)
    jars = (bridge_jar(), resolve(SERVER_TESTS), *distribution().lib)
    path = os.pathsep.join(map(str, (folder, TESTS / "resources", *jars)))
    sources = TESTS / "java"
    compiler = [str(java.compiler), "-nowarn", "-d", str(folder), "-cp", path, "-sourcepath", str(sources)]
    subprocess.run([*compiler, str(sources / "headgate" / "storm" / f"{name}.java")], check=True)
    flags = [f"-Xmx{heap_mb}m", f"-Dheadgate.python={sys.executable}"]
    command = [str(java.program), *flags, "-cp", path, f"headgate.storm.{name}", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("{"):
                yield json.loads(line)
    if process.returncode:
        raise SystemExit(f"{name} ended with {process.returncode}")

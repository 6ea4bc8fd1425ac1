"""Which Java runs Spark: the one in JAVA_HOME, else the one on PATH, as Spark's own scripts choose."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import attrs

from headgate.errors import EngineError

GET_JAVA = "Install a Java 17 runtime (for example `apt install openjdk-17-jre-headless`) or set JAVA_HOME to one."


@attrs.frozen(kw_only=True)
class Java:
    """A Java runtime: the `java` program, its major version, and `javac` if it comes with it."""

    program: Path
    version: int
    compiler: Path | None = None


def find_java(minimum: int = 17) -> Java:
    """Find the Java that Spark would start.

    Args:
        minimum: Major version that is needed; Spark 4 needs 17.

    Raises:
        EngineError: There is none, it does not run, or it is too old.
    """
    home = os.environ.get("JAVA_HOME")
    program = f"{home}/bin/java" if home else shutil.which("java")
    where = f"JAVA_HOME={home}" if home else "PATH"
    if program is None or not Path(program).is_file():
        raise EngineError(f"Spark needs Java, and {where} has none. {GET_JAVA}")
    compiler = Path(program).resolve().with_name("javac")
    java = Java(program=Path(program), version=_version(program), compiler=compiler if compiler.is_file() else None)
    if java.version < minimum:
        raise EngineError(f"{program} is Java {java.version}, and this Spark needs {minimum}. {GET_JAVA}")
    return java


def _version(program: str) -> int:
    said = subprocess.run([program, "-version"], capture_output=True, text=True, check=False).stderr
    match = re.search(r'version "(?:1\.)?(\d+)', said)
    if match is None:
        raise EngineError(f"{program} does not say its version: {said.strip()[:200]!r}. {GET_JAVA}")
    return int(match[1])

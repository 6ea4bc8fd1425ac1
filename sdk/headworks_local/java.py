"""Lookup of the Java that an engine starts with: JAVA_HOME's, else PATH's, as in the engines' own scripts."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import attrs

from headworks.errors import EngineError
from headworks.hooks import Finding

GET_JAVA = "Install a Java 17 runtime (for example `apt install openjdk-17-jre-headless`) or set JAVA_HOME to one."
SECONDS = 30
"""A runtime that has not told its version by then does not work."""
BRIEF = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
"""Options of a JVM that lives for seconds, such as a compiler's, or shares few cores with many, as a local cluster's:
what the optimising compiler and parallel collection cost it never gets back."""


@attrs.frozen(kw_only=True)
class Java:
    """A Java runtime: the `java` program, its major version, and `javac` of the same installation if it has one."""

    program: Path
    version: int
    compiler: Path | None = None

    def javac(self) -> list[str | Path]:
        """The beginning of a command that compiles, [] if there is no compiler."""
        return [self.compiler, *(f"-J{option}" for option in BRIEF)] if self.compiler else []


def find_java(minimum: int = 17) -> Java:
    """Find the Java that an engine would start.

    Args:
        minimum: Major version that is needed; Spark 4 needs 17.

    Raises:
        EngineError: There is none, it does not run, or it is too old.
    """
    home = os.environ.get("JAVA_HOME")
    program = f"{home}/bin/java" if home else shutil.which("java")
    where = f"JAVA_HOME={home}" if home else "PATH"
    if program is None or not Path(program).is_file():
        raise EngineError(f"Java is needed, and {where} has none. {GET_JAVA}")
    java = Java(program=Path(program), version=_version(program), compiler=_compiler(Path(program)))
    if java.version < minimum:
        raise EngineError(f"{program} is Java {java.version}, and {minimum} is needed. {GET_JAVA}")
    return java


def java_finding() -> Finding:
    """Finding whether there is a Java that an engine would start."""
    try:
        java = find_java()
    except EngineError as error:
        return Finding(subject="Java", status="missing", detail=str(error).removesuffix(GET_JAVA).strip(), fix=GET_JAVA)
    return Finding(subject="Java", status="ok", detail=f"{java.version} ({java.program})")


def _compiler(program: Path) -> Path | None:
    compiler = program.resolve().with_name("javac")
    return compiler if compiler.is_file() else None


def _version(program: str) -> int:
    try:
        run = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EngineError(f"{program} does not run: {error}. {GET_JAVA}") from None
    match = re.search(r'version "(?:1\.)?(\d+)', run.stderr)
    if match is None:
        raise EngineError(f"{program} does not say its version: {run.stderr.strip()[:200]!r}. {GET_JAVA}")
    return int(match[1])

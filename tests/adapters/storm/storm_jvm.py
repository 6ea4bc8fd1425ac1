"""Java classes of the adapter's tests, compiled and run with Storm's own classes and data, for tests and benchmarks."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headworks.errors import EngineError
from headworks_local.java import BRIEF, find_java
from headworks_local.maven import resolve
from headworks_storm.release.artefacts import SERVER_TESTS, distribution
from headworks_storm.release.jar import own_jars

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headworks_local.java import Java

PROJECT = Path(__file__).parents[3] / "adapters" / "headworks_storm" / "java"
"""The Maven project, of which a wheel has the classes only."""
TESTS = PROJECT / "src" / "test"


def class_path(name: str, folder: Path) -> str:
    """Compile a class of the package `headworks.storm` with all it needs into a folder; where Java finds it.

    Storm's production clusters are there too, as files.
    """
    storm_tests = resolve(SERVER_TESTS)
    with zipfile.ZipFile(storm_tests) as archive:
        archive.extractall(folder, [each for each in archive.namelist() if each.startswith("clusterconf/")])
    jars = (own_jars().bridge, storm_tests, *distribution().lib)
    path = os.pathsep.join(map(str, (folder, TESTS / "resources", *jars)))
    sources = TESTS / "java"
    compiler = [*jdk().javac(), "-nowarn", "-d", str(folder), "-cp", path, "-sourcepath", str(sources)]
    subprocess.run([*compiler, str(sources / "headworks" / "storm" / f"{name}.java")], check=True)
    return path


def jdk() -> Java:
    """The Java that Storm runs on, which has to have a compiler."""
    java = find_java(distribution().java)
    if java.compiler is None:
        raise EngineError(f"{java.program} is no JDK")
    return java


def run_class(name: str, *arguments: str, folder: Path, heap_mb: int = 3072) -> Iterator[dict[str, Any]]:
    """Run the main method of a class, and give each line of JSON that it prints.

    Args:
        name: A class of the package `headworks.storm`.
        arguments: Of its main method.
        folder: For the compiled classes.
        heap_mb: Most memory in MB that its objects may take; Storm's own build gives its tests 3 GB.
    """
    flags = [f"-Xmx{heap_mb}m", f"-Dheadworks.python={sys.executable}"]
    command = [str(jdk().program), *flags, "-cp", class_path(name, folder), f"headworks.storm.{name}", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("{"):
                yield json.loads(line)
    if process.returncode:
        raise EngineError(f"{name} ended with {process.returncode}")


@contextlib.contextmanager
def running(name: str, folder: Path) -> Iterator[Any]:
    """The packages of a JVM that has a class of `headworks.storm`; the test is skipped without a JDK.

    Args:
        name: The class.
        folder: For the compiled classes.
    """
    import pytest  # benchmarks import this module, and need none
    from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

    try:
        java = jdk()
    except EngineError as error:
        pytest.skip(f"needs a JDK: {error}")
    port, token, process = launch_gateway(
        classpath=class_path(name, folder),
        java_path=str(java.program),
        die_on_exit=True,
        enable_auth=True,
        return_proc=True,
        javaopts=["-Xmx2g", *BRIEF],
        redirect_stderr=subprocess.DEVNULL,
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token, auto_convert=True))
    yield gateway.jvm
    gateway.shutdown()
    process.stdin.close()
    process.wait(timeout=600)

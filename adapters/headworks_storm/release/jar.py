"""The jars for Storm's classpaths: Headworks's Java classes, and that of the installed py4j by which calls are written.

So both ends match. It is in a package of Headworks's: a topology, or another plugin of a daemon, may bring a py4j.

A wheel of a release brings the classes. Elsewhere they are compiled on first use, by a JDK if there is one, else by
Eclipse's compiler, which needs only a Java runtime.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from headworks.errors import EngineError, how_to_install
from headworks_local.java import BRIEF, find_java
from headworks_local.lifetime import environment
from headworks_local.maven import Artefact, missing, resolve
from headworks_local.private_files import cache_folder
from headworks_storm.release.artefacts import STORM, distribution, java_version, missing_jars
from headworks_storm.release.relocate import relocate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from headworks_local.java import Java

SOURCES = Path(__file__).parents[1] / "java" / "src" / "main" / "java"
"""Headworks's Java sources, which a wheel has too."""
BUILT = Path(__file__).parents[1] / "headworks-storm.jar"
"""Headworks's classes, all of them, in an installed wheel of a release."""
HANDED_OUT = re.compile(r"headworks-storm(-seats)?-[0-9a-f]{12}\.jar")
"""Name of a jar that any Headworks hands out, with its part."""
PY4J, OWN_PY4J = "py4j", "headworks/py4j"
"""Package of py4j, and the one that it has in the jar."""
ESCAPES = f"{PY4J}/StringUtil.class"
"""The class of py4j that the bridge needs; constants of others were compiled in."""
LICENCE = Path(__file__).with_name("LICENSE.py4j")
"""Goes into the jar with that class, as py4j's licence asks."""
BYTECODE = 11
"""Storm 2.6 runs on Java 11, Storm 2.8 on Java 17; classes for the older one serve both."""
MEGABYTES = 158
"""What the jars of a release weigh, the smaller 2.6 less."""
COMPILER = Artefact("org.eclipse.jdt", "ecj", "3.33.0")
"""Eclipse's compiler; the last line of releases that Java 11 runs."""
COMPILER_SHA256 = "f7686c4960cf70c2ebc5c500a73a8cfc04541b730c18f1c5c21329889b137f45"


class Jars(NamedTuple):
    """Headworks's jars; each class is in one of them.

    Attributes:
        bridge: For Nimbus and workers: its scheduler, and what measures.
        seats: For workers of topologies with seats, which need `bridge` too, and for a Nimbus that rewrites topologies.
        topologies: Headworks's own workloads, which are submitted.
    """

    bridge: Path
    seats: Path
    topologies: Path


PACKAGES = Jars(Path(), Path("headworks/storm/seats"), Path("headworks/storm/workload"))
"""The package of each jar's classes; all others are the bridge's."""


def own_jars(version: str = STORM, *, cache: Path | None = None) -> Jars:
    """The jars, from the cache or made now.

    Args:
        version: The Storm to compile against if that is needed; the jars themselves serve every supported one.
        cache: Folder to keep them in; the user's cache by default.

    Raises:
        EngineError: py4j is not installed, there is no Java, or the sources do not compile.
    """
    py4j = py4j_jar()
    parts = [BUILT] if BUILT.is_file() else sources()
    # Named by what they are made of: after an upgrade of Headworks or py4j those in the cache are others.
    made_of = (OWN_PY4J.encode(), ESCAPES.encode(), *(part.read_bytes() for part in [LICENCE, py4j, *parts]))
    digest = hashlib.sha256(b"\0".join(made_of)).hexdigest()[:12]
    place = (cache or cache_folder()) / "storm"
    jars = Jars(*(place / f"headworks-storm{part}-{digest}.jar" for part in ("", "-seats", "-topologies")))
    if not all(jar.is_file() for jar in jars):
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place) as folder:
            classes = BUILT if BUILT.is_file() else compile_classes(Path(folder, "classes.jar"), version)
            taken = (each for each in _members(py4j) if each[0] == ESCAPES)
            members = [_moved(each) for each in (*_members(classes), *taken)]
            members.append((f"META-INF/{LICENCE.name}", LICENCE.read_bytes()))
            for jar, package in zip(jars, PACKAGES, strict=True):
                own = (each for each in members if _package(each[0]) == package)
                _pack(Path(folder, jar.name), own).replace(jar)
    return jars


def _package(member: str) -> Path:
    """The one of `PACKAGES` that a file is of."""
    folder = Path(member).parent
    return folder if folder in PACKAGES else PACKAGES.bridge


def hand_out(folder: Path, *, seats: bool = False) -> tuple[Path, ...]:
    """Copy jars into a folder, each all or nothing, and remove those of other Headworkss there; returns the copies.

    Args:
        folder: Where they go.
        seats: Whether that of seats goes too; it does where another Headworks's is.

    Raises:
        EngineError: There is none, see `own_jars`, or the folder cannot be written.
    """
    jars = own_jars()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        there = {each: found[1] for each in folder.iterdir() if (found := HANDED_OUT.fullmatch(each.name))}
        wanted = (jars.bridge, jars.seats) if seats or "-seats" in there.values() else (jars.bridge,)
        copies = tuple(_copy(jar, folder) for jar in wanted)
        # Only now, so that one is always there. A daemon that runs keeps the file that it has open.
        for older in there.keys() - set(copies):
            older.unlink(missing_ok=True)
    except OSError as error:
        raise EngineError(f"{folder / jars.bridge.name} cannot be written: {error.strerror}") from None
    return copies


def _copy(jar: Path, folder: Path) -> Path:
    # Renamed when it is whole: a daemon that starts meanwhile has the folder on its class path.
    draft = folder / f".{jar.name}.{os.getpid()}"
    try:
        shutil.copyfile(jar, draft)
        return draft.replace(folder / jar.name)
    finally:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)


def compile_classes(jar: Path, version: str = STORM, *, java: Java | None = None) -> Path:
    """Compile Headworks's classes, without py4j's, into a jar.

    Args:
        version: The Storm to compile against.
        java: What compiles; what this Storm would run on by default.

    Raises:
        EngineError: There is no Java, a jar of Storm cannot be had, or the sources do not compile.
    """
    java = java or find_java(java_version(version))  # before anything is downloaded
    click.echo(_announcement(version, java), err=True)
    path = (*distribution(version).lib, py4j_jar())
    return compile_sources(jar, sources(), path, what="Headworks's classes", java=java, version=version)


def _announcement(version: str, java: Java) -> str:
    """The line that tells a person why a first command takes longer."""
    fetched = []
    if count := missing_jars(version):
        fetched.append(f"{count} jars of Storm {version} (all of them: {MEGABYTES} MB)")
    if java.compiler is None and missing([COMPILER]):
        fetched.append("Eclipse's compiler (3 MB)")
    text = f"compiling Headworks's classes for Storm {version}, once"
    return f"{text}: {' and '.join(fetched)} are fetched from Maven Central first" if fetched else text


def compile_sources(
    jar: Path,
    files: Sequence[Path],
    path: Sequence[Path],
    *,
    what: str,
    java: Java | None = None,
    version: str = STORM,
) -> Path:
    """Compile Java sources into a jar.

    Args:
        what: Name of them in messages.
        java: What compiles; what this Storm would run on by default.
        version: The Storm to compile against.

    Raises:
        EngineError: There is no Java, or the sources do not compile.
    """
    java = java or find_java(java_version(version))
    with tempfile.TemporaryDirectory() as folder:
        command = [*_compiler(java), "-nowarn", "-proc:none", "-encoding", "UTF-8", "-d", folder]
        command += ["-cp", os.pathsep.join(map(str, path))]
        env = os.environ | environment()
        done = subprocess.run([*command, *files], capture_output=True, text=True, check=False, env=env)
        if done.returncode:
            message = (done.stderr or done.stdout).strip()[-2000:]
            raise EngineError(f"{what} do not compile against Storm {version}:\n{message}")
        classes = sorted(Path(folder).rglob("*.class"))
        return _pack(jar, ((each.relative_to(folder).as_posix(), each.read_bytes()) for each in classes))


def py4j_jar() -> Path:
    """The jar that the installed py4j brings.

    Raises:
        EngineError: py4j is not installed, or without its jar.
    """
    try:
        # py4j comes with the extra `storm`: without it this is an error with a fix, not a failed import.
        from py4j.java_gateway import find_jar_path
    except ImportError:
        raise EngineError(f"py4j is not installed: {how_to_install('storm')}") from None
    found = find_jar_path()
    if not found:
        raise EngineError("py4j is installed without its jar: `pip install --force-reinstall py4j`")
    return Path(found)


def sources() -> list[Path]:
    """Every Java source, by name."""
    return sorted(SOURCES.rglob("*.java"))


def _compiler(java: Java) -> list[str | Path]:
    """The command of a compiler: the JDK's javac, else Eclipse's, which needs only a Java runtime."""
    if java.compiler:
        return [*java.javac(), "--release", str(BYTECODE)]
    compiler = resolve(COMPILER, sha256=COMPILER_SHA256)
    return [java.program, *BRIEF, "-jar", compiler, "-source", str(BYTECODE), "-target", str(BYTECODE)]


def _members(jar: Path) -> Iterator[tuple[str, bytes]]:
    """The files of a jar but its manifest, which the new jar has of its own."""
    with zipfile.ZipFile(jar) as archive:
        for name in archive.namelist():
            if not name.endswith("/") and name != "META-INF/MANIFEST.MF":
                yield name, archive.read(name)


def _moved(member: tuple[str, bytes]) -> tuple[str, bytes]:
    """A file of a jar, with py4j's classes in Headworks's package."""
    name, content = member
    if name.startswith(f"{PY4J}/"):
        name = name.replace(PY4J, OWN_PY4J, 1)
    return name, relocate(content, PY4J, OWN_PY4J) if name.endswith(".class") else content


def _pack(jar: Path, members: Iterable[tuple[str, bytes]]) -> Path:
    """Write a jar; equal members give equal bytes, for `ZipInfo` has a date of its own."""
    with zipfile.ZipFile(jar, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("META-INF/MANIFEST.MF"), "Manifest-Version: 1.0\n")
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return jar

"""The script that writes the lock file of a Storm release: `python -m headworks_storm.release.lock VERSION`.

Only a maintainer runs it. It asks Maven itself, whose conflict rules Storm's own build obeys and which resolvers in
Python follow only in part; who uses the lock file needs no Maven.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from headworks_storm.release.artefacts import LOCKS, STORM

ROOTS = {"lib": "storm-core", "lib-worker": "storm-client"}
"""Folder of an installation, and the artefact whose runtime closure fills it."""

LEFT_OUT = frozenset({"org.slf4j:slf4j-reload4j", "ch.qos.reload4j:reload4j"})
"""A second logging back end beside log4j2, which Storm configures."""

POM = """<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>headworks</groupId><artifactId>lock</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.storm</groupId><artifactId>{root}</artifactId><version>{version}</version>
      <exclusions>
        <exclusion><groupId>org.apache.storm</groupId><artifactId>storm-clojure</artifactId></exclusion>
      </exclusions>
    </dependency>
  </dependencies>
</project>
"""
"""The closure of one root, without Clojure: a dependency of `storm-clojure` is not in Maven Central."""

LINE = re.compile(r"^\s*([^:\s]+):([^:]+):jar(?::([^:]+))?:([^:]+):(?:compile|runtime):(\S+)", re.MULTILINE)


def lock(version: str) -> str:
    """The lock file of a release: folders, coordinates and SHA-256 of each jar, a line each."""
    digests: dict[str, str] = {}
    folders: dict[str, list[str]] = {}
    for folder, root in ROOTS.items():
        for coordinates, file in _closure(root, version).items():
            digests[coordinates] = hashlib.sha256(file.read_bytes()).hexdigest()
            folders.setdefault(coordinates, []).append(folder)
    lines = (f"{','.join(folders[each])} {each} {digests[each]}\n" for each in sorted(digests))
    return f"# Apache Storm {version}: written by `python -m headworks_storm.release.lock {version}`\n" + "".join(lines)


def _closure(root: str, version: str) -> dict[str, Path]:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "pom.xml").write_text(POM.format(root=root, version=version))
        options = ["-DincludeScope=runtime", "-DoutputAbsoluteArtifactFilename=true", "-DoutputFile=list.txt"]
        subprocess.run(["mvn", "-q", "-B", "dependency:list", *options], cwd=folder, check=True)
        listed = LINE.findall(Path(folder, "list.txt").read_text())
    closure = {}
    # Maven lists group:name:jar[:classifier]:version:scope:file.
    for group, name, classifier, version_, file in listed:
        if f"{group}:{name}" not in LEFT_OUT:
            closure[":".join(part for part in (group, name, version_, classifier) if part)] = Path(file)
    return closure


if __name__ == "__main__":
    wanted = sys.argv[1] if len(sys.argv) > 1 else STORM
    (LOCKS / f"storm-{wanted}.txt").write_text(lock(wanted))

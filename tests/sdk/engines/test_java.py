from __future__ import annotations

import pytest

from headworks.errors import EngineError
from headworks_local.java import find_java


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

"""The built wheel in an empty environment of each Python that is here: its first screen, without Java and network."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from pathlib import Path

import pytest

from stranger import ROOT, SITE, run

pytestmark = [pytest.mark.slow, pytest.mark.network]

PYENV = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
"""Before the path: pyenv has programs there that run nothing where another version is chosen."""


def find(version):
    """The program of a version of Python, None if it is not here."""
    return next(PYENV.glob(f"{version}.*/bin/python{version}"), None) or shutil.which(f"python{version}")


PYTHONS = {version: path for minor in range(11, 15) if (path := find(version := f"3.{minor}"))}
PYTHONS[".".join(platform.python_version_tuple()[:2])] = sys.executable
GUARD = """
import os, sys
REFUSED = {"socket.connect", "socket.getaddrinfo", "subprocess.Popen", "os.exec", "os.posix_spawn", "os.fork"}
def refuse(event, details):
    if event in REFUSED:
        os.write(2, f"{event} {details}".encode())
        os._exit(97)
sys.addaudithook(refuse)
"""
"""Ends a process that asks for a connection or for another process."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=ROOT, HEADWORKS_RELEASE="")
    (found,) = folder.glob("*.whl")
    return found


@pytest.mark.parametrize("version", sorted(PYTHONS))
def test_a_plan_is_the_first_screen(version, wheel, tmp_path):
    run(PYTHONS[version], "-m", "venv", tmp_path / "env")
    python = tmp_path / "env" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", wheel)
    site = Path(run(python, "-c", SITE).strip())
    (site / "guard.py").write_text(GUARD)
    (site / "guard.pth").write_text("import guard\n")
    bare = {"PATH": "", "JAVA_HOME": str(tmp_path), "PYTHONPATH": "", "HOME": str(tmp_path)}
    run(python, "-c", "import socket; socket.create_connection(('127.0.0.1', 9))", code=97, cwd=tmp_path, **bare)
    out = run(python, "-m", "headworks", "plan", "dstorm:linear", "-s", "dstorm", cwd=tmp_path, **bare)
    assert "2 of 12" in out
    assert "33.3%" in out
